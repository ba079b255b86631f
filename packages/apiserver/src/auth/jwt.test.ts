import { createHmac, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { keyIdOf, maxJwtLength, peekClaims, publicJwk, signJwt, type TokenKey, verifyJwt } from "./jwt.ts";

function newKey(): TokenKey {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...pair, id: keyIdOf(pair.publicKey) };
}

const key = newKey();
const claims = { iss: "us", sub: "somebody", nested: { a: [1] } };
const token = signJwt(claims, key);
const [head, body, tail] = token.split(".") as [string, string, string];
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const flip = (text: string, at: number): string =>
  `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
const withHeader = (header: unknown): string => `${encode(header)}.${body}.${tail}`;
const publicPem = key.publicKey.export({ type: "spki", format: "pem" });
const confused = `${encode({ alg: "HS256", kid: key.id })}.${body}`;

describe("verifyJwt()", () => {
  test("accepts a token signed with the key", () => {
    expect(verifyJwt(token, key)).toEqual({ claims });
  });

  test.for([
    ["an empty string", ""],
    ["a word", "token"],
    ["two parts", `${head}.${body}`],
    ["four parts", `${token}.x`],
    ["an empty signature", `${head}.${body}.`],
    ["half a signature", `${head}.${body}.${tail.slice(0, 43)}`],
    ["a signature with more after it", `${head}.${body}.${tail}AAAA`],
    ["another signature", `${head}.${body}.${flip(tail, 5)}`],
    ["a signature of zeros", `${head}.${body}.${Buffer.alloc(64).toString("base64url")}`],
    ["changed claims", `${head}.${encode({ ...claims, sub: "admin" })}.${tail}`],
    ["padding", `${head}.${body}.${tail}=`],
    ["standard base64", `${head}.${body}.${tail.slice(0, -1)}+`],
    ["spaces", ` ${token}`],
    ["a line break", `${head}\n.${body}.${tail}`],
    ["the algorithm none", `${encode({ alg: "none" })}.${body}.`],
    ["the algorithm none with a key and signature", withHeader({ alg: "none", kid: key.id })],
    ["the algorithm None", withHeader({ alg: "None", kid: key.id })],
    ["another curve", withHeader({ alg: "ES384", kid: key.id })],
    ["RSA", withHeader({ alg: "RS256", kid: key.id })],
    [
      "the public key used as an HMAC secret",
      `${confused}.${createHmac("sha256", publicPem).update(confused).digest("base64url")}`,
    ],
    ["an embedded key", withHeader({ alg: "ES256", kid: key.id, jwk: publicJwk(newKey()) })],
    ["no key id", withHeader({ alg: "ES256" })],
    ["a critical extension", withHeader({ alg: "ES256", kid: key.id, crit: ["exp"] })],
    ["a header that is a list", withHeader([])],
    ["claims that are a list", `${head}.${encode([])}.${tail}`],
    ["claims that are not JSON", `${head}.${Buffer.from("{").toString("base64url")}.${tail}`],
    ["claims that are not UTF-8", `${head}.${Buffer.from([0xff, 0xfe]).toString("base64url")}.${tail}`],
    ["unicode", `${head}.${body}.ÿ🔑`],
    ["a token that is too long", `${head}.${"A".repeat(maxJwtLength)}.${tail}`],
    ["a token of another server", signJwt(claims, newKey())],
    ["another key with the same key ID", signJwt(claims, { ...newKey(), id: key.id })],
  ] as const)("refuses %s", ([, hostile]) => {
    expect(verifyJwt(hostile, key)).toEqual({ problem: expect.any(String) });
  });
});

describe("peekClaims()", () => {
  test("reads claims without verifying the signature", () => {
    expect(peekClaims(`${head}.${body}.x`)).toEqual(claims);
    expect(peekClaims("x")).toBeUndefined();
    expect(peekClaims(`.${"A".repeat(maxJwtLength)}.`)).toBeUndefined();
  });
});

test("publicJwk() contains only the public key", () => {
  expect(publicJwk(key)).toEqual({
    use: "sig",
    kid: key.id,
    alg: "ES256",
    kty: "EC",
    crv: "P-256",
    x: expect.any(String),
    y: expect.any(String),
  });
});
