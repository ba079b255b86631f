import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";

export type MtlsMode = "off" | "optional" | "required";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** The CA of client certificates. Required unless `mtls` is `off`. */
  readonly clientCaFile?: string;
  readonly mtls: MtlsMode;
}

/** Reads the files. Throws if certificate and key do not match or cannot be used. */
export function loadCertificates({ certFile, keyFile, clientCaFile, mtls }: TlsFiles): SecureContextOptions {
  const ca = mtls === "off" || clientCaFile === undefined ? {} : { ca: readFileSync(clientCaFile) };
  const loaded = { cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: "TLSv1.2", ...ca } as const;
  createSecureContext(loaded);
  return loaded;
}
