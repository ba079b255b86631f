import type { PeerCertificate } from "node:tls";
import type { User } from "./caller.ts";

/**
 * Who a verified client certificate stands for: the first SPIFFE URI, else the first DNS name, else the common name; the
 * organisations are its groups. Undefined when it names nobody.
 */
export function certificateUser({ subject, subjectaltname = "" }: Partial<PeerCertificate>): User | undefined {
  const names = subjectaltname.split(", ");
  const spiffe = names.find((name) => name.startsWith("URI:spiffe://"))?.slice("URI:".length);
  const dns = names.find((name) => name.startsWith("DNS:"))?.slice("DNS:".length);
  const commonName: string | string[] | undefined = subject?.CN;
  const username = spiffe ?? dns ?? [commonName].flat()[0];
  if (username === undefined || username === "") return undefined;
  const organisations = [subject?.O ?? []].flat();
  return { username, groups: [...organisations, "system:authenticated"] };
}
