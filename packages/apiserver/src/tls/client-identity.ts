import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { readFileIfAny } from "../private-file.ts";
import { issueCertificate, type KeyAndCertificate } from "./certificate.ts";
import { authorityName, skewMs } from "./server-identity.ts";

export interface ClientRequest {
  readonly user: string;
  /** Default: none besides `system:authenticated`, which all users are in. */
  readonly groups?: readonly string[] | undefined;
  /** Default: 365. Never longer than the validity of the authority. */
  readonly days?: number | undefined;
}

const defaultDays = 365;
const maxDays = 10 * 365;
const maxNameLength = 256;
const maxGroups = 64;
const day = 24 * 60 * 60 * 1000;

/** Issues a key and a certificate for a user and groups. Certificates cannot be revoked. */
export function issueClientCertificate(
  authority: KeyAndCertificate,
  { user, groups = [], days = defaultDays }: ClientRequest,
  nowMs: number,
): KeyAndCertificate {
  const problem = requestProblem(user, groups, days);
  if (problem !== undefined) throw new RangeError(`Cannot issue a certificate for ${JSON.stringify(user)}: ${problem}`);
  const { validTo } = new X509Certificate(authority.certificate);
  const notAfterMs = Math.min(nowMs + days * day, Date.parse(validTo));
  return issueCertificate(
    { commonName: user, organizations: groups, notBeforeMs: nowMs - skewMs, notAfterMs },
    { commonName: authorityName, key: createPrivateKey(authority.key) },
  );
}

function requestProblem(user: string, groups: readonly string[], days: number): string | undefined {
  const isName = (name: string): boolean => name !== "" && name.length <= maxNameLength && !/\p{Cc}/u.test(name);
  if (!isName(user)) return `the name of a user is 1 to ${maxNameLength} printable characters`;
  if (groups.length > maxGroups) return `at most ${maxGroups} groups are allowed`;
  if (!groups.every(isName)) return `the name of a group is 1 to ${maxNameLength} printable characters`;
  const inRange = Number.isFinite(days) && days > 0 && days <= maxDays;
  return inRange ? undefined : `it can last up to ${maxDays} days, not ${days}`;
}

/** Reads the certificate authority from a data folder with which a server has listened before. */
export function readAuthority(dataDir: string): KeyAndCertificate {
  const key = readFileIfAny(join(dataDir, "ca.key"));
  const certificate = readFileIfAny(join(dataDir, "ca.crt"));
  if (key === undefined || certificate === undefined) {
    throw new Error(`Cannot read the certificate authority in "${dataDir}": there is none; start the server once`);
  }
  return { key, certificate };
}
