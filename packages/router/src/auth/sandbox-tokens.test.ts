import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import type { Route } from "../route/route.ts";
import { type Keyring, type SigningKey, signingKey } from "./keyring.ts";
import { SandboxTokens } from "./sandbox-tokens.ts";
import { verifyToken } from "./scoped-token.ts";
import { tokenCovers, tokensNotBeforeAnnotation } from "./token-scope.ts";

const key = (letter: string): SigningKey => signingKey(letter.repeat(32)) as SigningKey;
const ring: Keyring = [key("a")];

const sandbox = (revokedBefore?: string): Sandbox =>
  ({
    metadata: {
      name: "member",
      namespace: "team",
      uid: "u1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...(revokedBefore !== undefined && { annotations: { [tokensNotBeforeAnnotation]: revokedBefore } }),
    },
  }) as unknown as Sandbox;

const scope = { namespace: "team", name: "mine", ports: [8080] };

const route = (port: number): Route => ({
  by: "header",
  namespace: "team",
  name: "mine",
  port,
  uid: undefined,
  podIp: undefined,
  target: "/",
});

const covers = (token: string, port: number, now: Sandbox): boolean => {
  const verified = verifyToken(token, ring, Date.parse("2030-01-01") / 1000);
  if (verified === undefined) throw new Error("the token is not valid");
  return tokenCovers({ token: verified, use: "access", route: route(port), sandbox: now });
};

test("a sandbox has the same token every time, and it does not expire", () => {
  const token = new SandboxTokens(() => ring).mint(sandbox(), scope);
  expect(new SandboxTokens(() => [key("a"), key("b")]).mint(sandbox(), scope)).toBe(token);
  expect(covers(token, 8080, sandbox())).toBe(true);
  expect(covers(token, 9090, sandbox())).toBe(false);
});

test("a revocation ends the token, and the next one is another", () => {
  const tokens = new SandboxTokens(() => ring);
  const revoked = sandbox("2026-02-01T00:00:00.123Z");
  const [before, after] = [tokens.mint(sandbox(), scope), tokens.mint(revoked, scope)];
  expect(covers(before, 8080, revoked)).toBe(false);
  expect(covers(after, 8080, revoked)).toBe(true);
  const isRevoked = [before, after, "forged"].map((token) => tokens.isRevoked(token, revoked));
  expect([tokens.isRevoked(before, sandbox()), ...isRevoked]).toEqual([false, true, false, true]);
});

test("the tokens of one object follow the scope and the keys", () => {
  let keys: Keyring = ring;
  const tokens = new SandboxTokens(() => keys);
  const object = sandbox();
  const first = tokens.mintAll(object, scope);
  expect(tokens.mintAll(object, scope)).toBe(first);
  expect(tokens.mintAll(object, { ...scope, ports: [1] })).not.toEqual(first);
  keys = [key("b"), key("a")];
  expect(tokens.mintAll(object, scope)).toEqual([expect.any(String), ...first]);
});

test("tokens of older keys are known until the key is removed", () => {
  const old = new SandboxTokens(() => ring).mint(sandbox(), scope);
  const rotated = new SandboxTokens(() => [key("b"), key("a")]);
  expect(rotated.mint(sandbox(), scope)).not.toBe(old);
  expect(rotated.mintAll(sandbox(), scope)).toContain(old);
  expect(rotated.verify(old)).toEqual({ ...scope, uid: "u1" });
  expect(new SandboxTokens(() => [key("b")]).verify(old)).toBeUndefined();
});

test.for(["", "v2.x.y.z", "v1.a.b", "s1.a"])("%j is not a token", (text) => {
  expect(new SandboxTokens(() => ring).verify(text)).toBeUndefined();
});
