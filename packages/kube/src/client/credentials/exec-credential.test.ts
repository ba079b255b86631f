import { expect, test } from "vitest";
import { parseExecCredential } from "./exec-credential.ts";

const v1 = "client.authentication.k8s.io/v1";
const printed = (status: unknown, over: object = {}): string =>
  JSON.stringify({ apiVersion: v1, kind: "ExecCredential", status, ...over });

test.for<[string, string, object]>([
  ["a token", printed({ token: "t" }), { credential: { authorization: "Bearer t" }, expiresAt: undefined }],
  [
    "a certificate that expires",
    printed({ clientCertificateData: "c", clientKeyData: "k", expirationTimestamp: "2026-01-01T00:00:00Z" }),
    { credential: { certificate: { cert: "c", key: "k" } }, expiresAt: Date.UTC(2026, 0, 1) },
  ],
  ["nothing", "", { error: "it printed nothing" }],
  ["text", "token", { error: "it did not print valid JSON" }],
  ["null", "null", { error: "it printed a undefined, not an ExecCredential" }],
  ["another kind", printed({}, { kind: "Pod" }), { error: 'it printed a "Pod", not an ExecCredential' }],
  [
    "another version",
    printed({ token: "t" }, { apiVersion: "client.authentication.k8s.io/v1beta1" }),
    { error: `it printed version "client.authentication.k8s.io/v1beta1", the kubeconfig asks for "${v1}"` },
  ],
  ["no status", printed(undefined), { error: "it printed neither status.token nor a client certificate" }],
  ["half a certificate", printed({ clientKeyData: "k" }), { error: expect.stringContaining("only one of") }],
  ["a number as token", printed({ token: 5 }), { error: "its status.token is not a string" }],
  [
    "an invalid expiry",
    printed({ token: "t", expirationTimestamp: "soon" }),
    { error: expect.stringContaining('"soon" is not a valid time') },
  ],
])("parses the output of an exec plugin that prints %s", ([, output, expected]) => {
  expect(parseExecCredential(output, v1)).toEqual(expected);
});
