import { expect, test } from "vitest";
import { registryMessage } from "./registry-message.ts";

const reference = { registry: "10.1.2.3:22", repository: "x" };
const hidden = /^no registry that this node may use at "10\.1\.2\.3:22"/;

test.for([
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": dial tcp 10.1.2.3:22: connect: connection refused',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": dial tcp 10.1.2.3:22: i/o timeout',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": http: server gave HTTP response to HTTPS client',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": tls: first record does not look like a TLS handshake',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": x509: certificate signed by unknown authority',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": Bad Gateway',
  "pinging container registry 10.1.2.3:22: StatusCode: 404, SSH-2.0-OpenSSH_9.2",
  "EOF",
])("reveals nothing about %s", (said) => {
  expect(registryMessage(said, reference, [])).toMatch(hidden);
});

test.for([
  "reading manifest v1 in 10.1.2.3:22/x: manifest unknown",
  "unable to retrieve auth token: invalid username/password: unauthorized: no",
  "Cannot use layer sha256:ab: its content has digest 1, and the image requires 2",
  "the registry sends more than 100 bytes",
])("keeps the message of a registry: %s", (said) => {
  expect(registryMessage(said, reference, [])).toBe(said);
});

test("keeps every message about a registry that the operator configured", () => {
  expect(registryMessage("connection refused", reference, [{ name: "10.1.2.3:22" }])).toBe("connection refused");
});
