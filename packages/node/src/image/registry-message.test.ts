import { expect, test } from "vitest";
import { registryMessage } from "./registry-message.ts";

const reference = { registry: "10.1.2.3:22", repository: "x" };
const hidden = /^no registry that this node may use at "10\.1\.2\.3:22"; the operator finds the reason with/;
const failed = (said: string, hasManifest = false): Parameters<typeof registryMessage>[0] => ({ said, hasManifest });

test.for([
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": dial tcp 10.1.2.3:22: connect: connection refused',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": dial tcp 10.1.2.3:22: i/o timeout',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": http: server gave HTTP response to HTTPS client',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": tls: first record does not look like a TLS handshake',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": x509: certificate signed by unknown authority',
  'pinging container registry 10.1.2.3:22: Get "https://10.1.2.3:22/v2/": Bad Gateway',
  "pinging container registry 10.1.2.3:22: StatusCode: 404, SSH-2.0-OpenSSH_9.2",
  "EOF",
  "ECONNREFUSED",
  "TimeoutError",
  "no such host among those that a pull may reach",
])("reveals nothing about %s", (said) => {
  const messages = [false, true].map((hasManifest) => registryMessage(failed(said, hasManifest), reference, []));
  expect(new Set(messages).size).toBe(1);
  expect(messages[0]).toMatch(hidden);
});

test.for([
  ["reading manifest v1 in 10.1.2.3:22/x: manifest unknown", 'the registry "10.1.2.3:22" has no image "x:latest"'],
  ["unable to retrieve auth token: invalid username/password: unauthorized: no", "needs a login"],
  ["Cannot use layer sha256:ab: its content has digest 1, and the image requires 2", "Cannot use layer sha256:ab"],
  ["the registry sends more than 100 bytes", "the registry sends more than 100 bytes"],
] as const)("tells what a registry answered: %s", ([said, expected]) => {
  expect(registryMessage(failed(said), reference, [])).toContain(expected);
});

test("tells why a registry that the operator configured cannot be used", () => {
  const told = registryMessage(failed("ECONNREFUSED"), reference, [{ name: "10.1.2.3:22" }]);
  expect(told).toBe('nothing listens at the registry "10.1.2.3:22" (connection refused): check the port');
});

test("tells why a public registry cannot be reached, but not what its images refer to", () => {
  const hub = { registry: "docker.io", repository: "someone/x" };
  expect(registryMessage(failed("ENOTFOUND"), hub, [])).toContain("is unknown: check the name and the DNS");
  expect(registryMessage(failed("ECONNREFUSED", true), hub, [])).toMatch(/^no registry that this node may use/);
});
