import type { PeerCertificate } from "node:tls";
import type { User, VerifiedCertificate } from "./caller.ts";

/** The user of a certificate that the connection verified. A connection may last longer than the certificate. */
export function verifiedCertificate(certificate: Partial<PeerCertificate>): VerifiedCertificate | undefined {
  const user = certificateUser(certificate);
  const untilMs = Date.parse(certificate.valid_to ?? "");
  return user === undefined || Number.isNaN(untilMs) ? undefined : { user, untilMs };
}

/**
 * Who a verified client certificate stands for: the first SPIFFE URI, else the first DNS name, else the common name; the
 * organisations are its groups. Undefined when it names nobody.
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

/** Node quotes a name that has commas or quotes in it; no honest name has, and such a one is left out. */
function altNames(text: string): (readonly [kind: string, name: string])[] {
  const entries = text.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g);
  return Array.from(entries, ([, kind = "", name = ""]) => [kind, name] as const).filter(
    ([, name]) => !name.startsWith('"'),
  );
}
