import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";

export type MtlsMode = "off" | "optional" | "required";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Who signs the certificates of callers; needed unless `mtls` is `off`. */
  readonly clientCaFile?: string;
  readonly mtls: MtlsMode;
}

/** The content of the files, if it makes a working pair. Throws with the reason otherwise. */
export function loadCertificates({ certFile, keyFile, clientCaFile, mtls }: TlsFiles): SecureContextOptions {
  const ca = mtls === "off" || clientCaFile === undefined ? {} : { ca: readFileSync(clientCaFile) };
  const loaded = { cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: "TLSv1.2", ...ca } as const;
  createSecureContext(loaded);
  return loaded;
}
