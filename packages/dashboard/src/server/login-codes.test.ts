import { beforeEach, describe, expect, test } from "vitest";
import { type Login, LoginCodes } from "./login-codes.ts";

const perUser = 60;
let now: number;
let codes: LoginCodes;
beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  codes = new LoginCodes(() => now);
});

const login = (user: string): Login => ({
  token: `token of ${user}`,
  user,
  namespace: "default",
  tokenExpiresAt: Number.POSITIVE_INFINITY,
});

const tooMany = expect.objectContaining({ status: 429 });

describe("a code", () => {
  test("is redeemed once, for the login that it was made for", () => {
    const [alice, bob] = [codes.create(login("alice")), codes.create(login("bob"))];
    expect(codes.redeem(bob.code)).toEqual(login("bob"));
    expect(codes.redeem(alice.code)).toEqual(login("alice"));
    expect([codes.redeem(alice.code), codes.redeem(bob.code)]).toEqual([undefined, undefined]);
  });

  test("says nothing of the token or the user", () => {
    expect(codes.create(login("alice")).code).toMatch(/^[\w-]{43}$/);
    expect(codes.create(login("alice")).code).not.toBe(codes.create(login("alice")).code);
  });

  test("expires after a minute", () => {
    const [early, late] = [codes.create(login("alice")), codes.create(login("alice"))];
    expect(early.expiresAt).toBe(now + 60_000);
    now += 59_999;
    expect(codes.redeem(early.code)?.user).toBe("alice");
    now += 1;
    expect(codes.redeem(late.code)).toBeUndefined();
  });

  test.for(["", "x", "x".repeat(43), "__proto__", "\0"])("%j was never made", (code) => {
    codes.create(login("alice"));
    expect(codes.redeem(code)).toBeUndefined();
  });
});

describe("codes are limited:", () => {
  test("a user who has had too many waits until some expire, used or not, and others do not", () => {
    const first = codes.create(login("mallory"));
    now += 1000;
    for (let i = 1; i < perUser; i += 1) codes.create(login("mallory"));
    expect(codes.redeem(first.code)?.user).toBe("mallory");
    expect(() => codes.create(login("mallory"))).toThrow(tooMany);
    expect(codes.redeem(codes.create(login("admin")).code)?.user).toBe("admin");
    now += 59_000;
    codes.create(login("mallory"));
    expect(() => codes.create(login("mallory"))).toThrow(tooMany);
    now += 60_000;
    for (let i = 0; i < perUser; i += 1) codes.create(login("mallory"));
    expect(() => codes.create(login("mallory"))).toThrow(tooMany);
  });

  test("service accounts of a namespace have at most half of what is free", () => {
    const account = (namespace: string, name: number): Login => login(`system:serviceaccount:${namespace}:${name}`);
    for (let i = 0; i < 500; i += 1) codes.create(account("mallory", i));
    expect(() => codes.create(account("mallory", 500))).toThrow(tooMany);
    codes.create(account("bob", 0));
    codes.create(login("admin"));
  });
});
