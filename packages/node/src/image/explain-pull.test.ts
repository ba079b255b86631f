import { expect, test } from "vitest";
import { explainPull } from "./explain-pull.ts";

const reference = { registry: "reg.example:5000", repository: "team/app", tag: "v1" };
const get =
  'Error parsing image name "docker://reg.example:5000/team/app:v1": pinging container registry reg.example:5000: Get "https://reg.example:5000/v2/": ';
const setting =
  'add {"name": "reg.example:5000", "insecure": true} to "node.images.registries" in config.json (no restart is needed)';

test.for([
  [
    `${get}http: server gave HTTP response to HTTPS client`,
    `the registry "reg.example:5000" does not use TLS: if you trust the network, ${setting}`,
  ],
  [
    `${get}tls: first record does not look like a TLS handshake`,
    `the registry "reg.example:5000" does not use TLS: if you trust the network, ${setting}`,
  ],
  [
    `${get}x509: certificate signed by unknown authority`,
    `the certificate of the registry "reg.example:5000" is not trusted (x509: certificate signed by unknown authority): install its authority on this machine, or ${setting}`,
  ],
  [
    `${get}remote error: tls: handshake failure`,
    'there is no TLS connection to the registry "reg.example:5000" (remote error: tls: handshake failure)',
  ],
  [
    `${get}dial tcp: lookup reg.example on 10.0.0.1:53: no such host`,
    'the host of the registry "reg.example:5000" is unknown: check the name and the DNS of this machine',
  ],
  ["ENOTFOUND", 'the host of the registry "reg.example:5000" is unknown: check the name and the DNS of this machine'],
  [
    `${get}dial tcp 10.0.0.9:5000: connect: connection refused`,
    'nothing listens at the registry "reg.example:5000" (connection refused): check the port',
  ],
  ["ECONNREFUSED", 'nothing listens at the registry "reg.example:5000" (connection refused): check the port'],
  [
    "TimeoutError",
    'the registry "reg.example:5000" does not answer: check the address and the network of this machine',
  ],
  ["EHOSTUNREACH", 'this machine has no route to the registry "reg.example:5000"'],
  [`${get}EOF`, 'the registry "reg.example:5000" closes the connection: check that it runs at this address'],
  [
    "pinging container registry reg.example:5000: invalid status code from registry 404 (Not Found)",
    'the server at "reg.example:5000" is not a registry (invalid status code from registry 404 (Not Found))',
  ],
  [
    "reading manifest v1 in reg.example:5000/team/app: manifest unknown: manifest unknown",
    'the registry "reg.example:5000" has no image "team/app:v1": check the name and the tag',
  ],
  [
    "reading manifest v1: name unknown: repository name not known to registry",
    'the registry "reg.example:5000" has no repository for "team/app:v1": check the name',
  ],
  [
    "reading manifest v1: unauthorized: authentication required",
    'the registry "reg.example:5000" needs a login, or refuses the one it got (unauthorized): use imagePullSecrets, or agent-sandbox image pull --authfile FILE',
  ],
  ["toomanyrequests: slow down", 'the registry "reg.example:5000" refuses further pulls for now (too many requests)'],
  ['Error parsing image name "docker://x": something new', "something new"],
] as const)("explains %s", ([said, expected]) => {
  expect(explainPull(said, reference)).toBe(expected);
});
