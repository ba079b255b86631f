import type { PeerCertificate } from "node:tls";
import { expect, test } from "vitest";
import { certificateUser } from "./certificate-user.ts";

const certificate = (subject: object, subjectaltname?: string): Partial<PeerCertificate> =>
  ({ subject, ...(subjectaltname === undefined ? {} : { subjectaltname }) }) as Partial<PeerCertificate>;

test.for<[string, Partial<PeerCertificate>, string | undefined]>([
  ["a SPIFFE URI", certificate({ CN: "cn" }, "DNS:host, URI:https://x, URI:spiffe://a/b"), "spiffe://a/b"],
  ["a DNS name", certificate({ CN: "cn" }, "IP Address:1.2.3.4, DNS:host"), "host"],
  ["a common name", certificate({ CN: "cn" }), "cn"],
  ["nobody", certificate({}), undefined],
  ["a name that hides another", certificate({ CN: "cn" }, 'URI:"https://x, URI:spiffe://admin"'), "cn"],
])("is %s", ([, given, expected]) => {
  expect(certificateUser(given)?.username).toBe(expected);
});

test("the organisations of a certificate are groups", () => {
  expect(certificateUser(certificate({ CN: "cn", O: ["a", "b"] }))?.groups).toEqual(["a", "b", "system:authenticated"]);
});
