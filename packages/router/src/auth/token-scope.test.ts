import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import type { Route } from "../route/route.ts";
import type { TokenClaims, TokenUse } from "./scoped-token.ts";
import { tokenCovers, tokensNotBeforeAnnotation } from "./token-scope.ts";

const route: Route = {
  by: "header",
  namespace: "default",
  name: "box-a",
  port: 8888,
  uid: undefined,
  podIp: undefined,
  target: "/",
};
const sandbox = (annotations: Record<string, string> = {}, uid = "u1"): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "box-a", namespace: "default", uid, annotations },
  spec: { podTemplate: { spec: { containers: [] } } },
});
const v1 = { ns: "default", name: "box-a", exp: 9e9 };
const v2: TokenClaims = { ...v1, uid: "u1", id: "t", iat: 1000.5, use: "access", ports: [8888, 3000] };
const covers = (
  claims: TokenClaims,
  {
    use = "access",
    over = {},
    of = sandbox(),
  }: { use?: TokenUse; over?: Partial<Route>; of?: Sandbox | undefined } = {},
) =>
  tokenCovers({
    token: { version: claims.uid === undefined ? 1 : 2, claims },
    use,
    route: { ...route, ...over },
    sandbox: of,
  });

test.for<[string, boolean, boolean]>([
  ["version 1 for its sandbox", covers(v1), true],
  [
    "version 1 for another sandbox",
    covers(v1, { over: { name: "box-b" }, of: { ...sandbox(), metadata: { name: "box-b" } } }),
    false,
  ],
  ["version 1 for another namespace", covers(v1, { over: { namespace: "other" } }), false],
  ["version 1 with an address", covers(v1, { over: { podIp: "10.0.0.1" } }), false],
  ["version 1 with a UID", covers(v1, { over: { uid: "u1" } }), false],
  ["version 1 on any port", covers(v1, { over: { port: 1 } }), true],
  [
    "version 1 after any revocation",
    covers(v1, { of: sandbox({ [tokensNotBeforeAnnotation]: "2020-01-01T00:00:00Z" }) }),
    false,
  ],
  ["version 1 as a session", covers(v1, { use: "session" }), false],
  ["version 2 with an address, which is checked anyway", covers(v2, { over: { podIp: "10.0.0.1" } }), true],
  ["version 2 on one of its ports", covers(v2, { over: { port: 3000 } }), true],
  ["version 2 on another port", covers(v2, { over: { port: 22 } }), false],
  ["version 2 for a later Sandbox of the same name", covers(v2, { of: sandbox({}, "u2") }), false],
  [
    "version 2 issued before the revocation",
    covers(v2, { of: sandbox({ [tokensNotBeforeAnnotation]: "1970-01-01T00:16:40.501Z" }) }),
    false,
  ],
  [
    "version 2 issued after the revocation",
    covers(v2, { of: sandbox({ [tokensNotBeforeAnnotation]: "1970-01-01T00:16:40.500Z" }) }),
    true,
  ],
  [
    "version 2 when the revocation cannot be read",
    covers(v2, { of: sandbox({ [tokensNotBeforeAnnotation]: "yesterday" }) }),
    false,
  ],
  ["a login token as access", covers({ ...v2, use: "login" }), false],
  ["a session token as access", covers({ ...v2, use: "session" }), false],
  ["a token of the claim that holds the sandbox", covers({ ...v2, name: "claim" }, { over: { name: "claim" } }), true],
  ["a token of the sandbox, asked by its claim's name", covers(v2, { over: { name: "claim" } }), true],
])("%s: %s", ([, actual, expected]) => {
  expect(actual).toBe(expected);
});
