import { expect, test } from "vitest";
import { registryMessage } from "./registry-message.ts";

const reference = { registry: "10.1.2.3:22", repository: "x" };
const hidden = /^there is no registry at "10\.1\.2\.3:22" that this node may use/;

test.for([
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": dial tcp 10.1.2.3:22: connect: connection refused',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": dial tcp 10.1.2.3:22: i/o timeout',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": http: server gave HTTP response to HTTPS client',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": tls: first record does not look like a TLS handshake',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": x509: certificate signed by unknown authority',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": Bad Gateway',
  "pinging container registry 10.1.2.3:22: StatusCode: 404, SSH-2.0-OpenSSH_9.2",
  "EOF",
])("tells nothing of %s", (said) => {
  expect(registryMessage(said, reference, [])).toMatch(hidden);
});

test.for([
  "reading manifest v1 in 10.1.2.3:22/x: manifest unknown",
  "unable to retrieve auth token: invalid username/password: unauthorized: no",
  "Cannot use layer sha256:ab: it unpacks to 1, and the image names 2",
  "the registry sends more than 100 bytes",
])("tells what a registry says: %s", (said) => {
  expect(registryMessage(said, reference, [])).toBe(said);
});

test("what becomes of a registry of the operator's is told in full", () => {
  expect(registryMessage("connection refused", reference, [{ name: "10.1.2.3:22" }])).toBe("connection refused");
});
