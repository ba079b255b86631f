import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { readFileIfAny, writePrivateFile } from "../private-file.ts";
import { issueCertificate, type KeyAndCertificate } from "./certificate.ts";

export interface ServerIdentity extends KeyAndCertificate {
  /** The certificate authority that clients trust and that signs client certificates. */
  readonly authority: KeyAndCertificate;
}

export interface ServerIdentityOptions {
  /** The folder for keys and certificates. Without it, they are kept only in memory. */
  readonly folder: string | undefined;
  readonly names: readonly string[];
  readonly nowMs: number;
}

const day = 24 * 60 * 60 * 1000;
const authorityDays = 10 * 365;
const serverDays = 365;
/** A certificate is renewed this many days before it expires. */
const renewDays = 30;
/** Clocks of clients may be behind. */
export const skewMs: number = 60 * 60 * 1000;

export const authorityName = "agent-sandbox-ca";

/** Returns the server's key and certificate from the folder, or issues new ones when they expire or names are added. */
export function serverIdentity(options: ServerIdentityOptions): ServerIdentity {
  const authority = keptOr(options, "ca", isAuthority, () =>
    issueCertificate({ commonName: authorityName, ...lifetime(options.nowMs, authorityDays) }),
  );
  const issuer = new X509Certificate(authority.certificate);
  const isOurs = (certificate: X509Certificate): boolean =>
    certificate.verify(issuer.publicKey) && options.names.every((name) => answersTo(certificate, name));
  const server = keptOr(options, "server", isOurs, () =>
    issueCertificate(
      { commonName: "agent-sandbox", names: options.names, ...lifetime(options.nowMs, serverDays) },
      { commonName: authorityName, key: createPrivateKey(authority.key) },
    ),
  );
  return { ...server, authority };
}

const isAuthority = (certificate: X509Certificate): boolean =>
  certificate.ca && certificate.verify(certificate.publicKey);

function lifetime(nowMs: number, days: number): { notBeforeMs: number; notAfterMs: number } {
  return { notBeforeMs: nowMs - skewMs, notAfterMs: nowMs + days * day };
}

function answersTo(certificate: X509Certificate, name: string): boolean {
  return certificate.checkHost(name) !== undefined || certificate.checkIP(name) !== undefined;
}

function keptOr(
  { folder, nowMs }: ServerIdentityOptions,
  name: string,
  accept: (certificate: X509Certificate) => boolean,
  make: () => KeyAndCertificate,
): KeyAndCertificate {
  if (folder === undefined) return make();
  const keyPath = join(folder, `${name}.key`);
  const certificatePath = join(folder, `${name}.crt`);
  const key = readFileIfAny(keyPath);
  const certificate = readFileIfAny(certificatePath);
  if (key !== undefined && certificate !== undefined && isGood({ key, certificate }, nowMs, accept)) {
    return { key, certificate };
  }
  const made = make();
  writePrivateFile(keyPath, made.key);
  writePrivateFile(certificatePath, made.certificate);
  return made;
}

function isGood(
  { key, certificate }: KeyAndCertificate,
  nowMs: number,
  accept: (certificate: X509Certificate) => boolean,
): boolean {
  try {
    const parsed = new X509Certificate(certificate);
    const leftMs = Date.parse(parsed.validTo) - nowMs;
    return parsed.checkPrivateKey(createPrivateKey(key)) && leftMs > renewDays * day && accept(parsed);
  } catch {
    // Unreadable files are replaced like expired ones.
    return false;
  }
}
