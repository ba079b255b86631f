import type { ForwardCaller } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import type { Route } from "../route/route.ts";
import { Authenticator, type AuthenticatorOptions } from "./authenticator.ts";
import { Authorizer, type Credentials } from "./authorizer.ts";

const route: Route = {
  by: "header",
  namespace: "default",
  name: "box",
  port: 8888,
  uid: undefined,
  podIp: undefined,
  target: "/",
};
const none: Credentials = { bearer: undefined, sessions: [], certificate: undefined, peer: "10.0.0.1" };
const forwarded = (username?: string): ForwardCaller => ({
  address: "10.0.0.1",
  user: () => (username === undefined ? undefined : { username, groups: [] }),
});
const certificate = { user: { username: "alice" }, untilMs: 1000 };

async function outcome(credentials: Partial<Credentials>, over: Partial<AuthenticatorOptions> = {}): Promise<string> {
  const authenticator = new Authenticator({
    requireToken: true,
    keys: () => undefined,
    tokens: undefined,
    date: () => 999,
    ...over,
  });
  const authorizer = new Authorizer({ anonymous: false, authenticator, access: undefined });
  try {
    return (await authorizer.authorize({ credentials: { ...none, ...credentials }, route, sandbox: undefined })).id;
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

test.for<[what: string, Partial<Credentials>, Partial<AuthenticatorOptions>, expected: string]>([
  ["no credential", {}, {}, "Unauthenticated"],
  ["no credential where none is needed", {}, { requireToken: false }, "address:10.0.0.1"],
  ["a certificate", { certificate }, {}, "user:alice"],
  [
    "a certificate that has expired while the connection was open",
    { certificate },
    { date: () => 1000 },
    "Unauthenticated",
  ],
  [
    "an expired certificate where no credential is needed",
    { certificate },
    { requireToken: false, date: () => 1000 },
    "Unauthenticated",
  ],
  ["the user of a port-forward", { forwarded: forwarded("alice") }, {}, "user:alice"],
  ["the user of a port-forward, whose credential has expired", { forwarded: forwarded() }, {}, "Unauthenticated"],
  [
    "an expired port-forward where none is needed",
    { forwarded: forwarded() },
    { requireToken: false },
    "Unauthenticated",
  ],
  [
    "a token over a port-forward, which then does not count",
    { forwarded: forwarded("alice"), bearer: "v1.a.b" },
    {},
    "Unauthenticated",
  ],
  ["a session and no key", { sessions: ["s1.a.b"] }, {}, "Unauthenticated"],
  ["a token beside a certificate, which then does not count", { certificate, bearer: "v1.a.b" }, {}, "Unauthenticated"],
])("%s", async ([, credentials, over, expected]) => {
  expect(await outcome(credentials, over)).toBe(expected);
});
