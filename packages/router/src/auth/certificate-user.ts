import type { PeerCertificate } from "node:tls";
import type { User, VerifiedCertificate } from "./caller.ts";

/** The user and the expiry of a verified certificate. A connection may last longer than its certificate. */
export function verifiedCertificate(certificate: Partial<PeerCertificate>): VerifiedCertificate | undefined {
  const user = certificateUser(certificate);
  const untilMs = Date.parse(certificate.valid_to ?? "");
  return user === undefined || Number.isNaN(untilMs) ? undefined : { user, untilMs };
}

/**
 * The user that a client certificate stands for: its first SPIFFE URI, or else its first DNS name, or else its common
 * name. The organisations are the groups. Undefined if it has none of these names.
 */
export function certificateUser({ subject, subjectaltname = "" }: Partial<PeerCertificate>): User | undefined {
  const names = altNames(subjectaltname);
  const spiffe = names.find(([kind, name]) => kind === "URI" && name.startsWith("spiffe://"))?.[1];
  const dns = names.find(([kind]) => kind === "DNS")?.[1];
  const commonName: string | string[] | undefined = subject?.CN;
  const username = spiffe ?? dns ?? [commonName].flat()[0];
  if (username === undefined || username === "") return undefined;
  const organisations = [subject?.O ?? []].flat();
  return { username, groups: [...organisations, "system:authenticated"] };
}

/** Node quotes a name that contains commas or quotes. No valid name does, so these are ignored. */
function altNames(text: string): (readonly [kind: string, name: string])[] {
  const entries = text.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g);
  return Array.from(entries, ([, kind = "", name = ""]) => [kind, name] as const).filter(
    ([, name]) => !name.startsWith('"'),
  );
}
