import { expect, test } from "vitest";
import { grantExpiry } from "./grant.ts";
import { type Keyring, type SigningKey, signingKey } from "./keyring.ts";
import { mintV1, mintV2 } from "./scoped-token.ts";
import { maxSealedLength, openSession, type Session, sealSession } from "./sealed-session.ts";

const key = signingKey("k".repeat(32)) as SigningKey;
const other = signingKey("o".repeat(32)) as SigningKey;
const keys: Keyring = [key];
const claims = {
  ns: "n",
  name: "the-sandbox",
  uid: "the-uid-of-it",
  ports: [3000],
  iat: 1,
  exp: 100,
  id: "i",
  use: "session",
} as const;
const session: Session = { claims, grant: { bearer: "the-credential" } };
const text = sealSession(session, "session", key);
const open = (given: string, ring = keys, nowSeconds = 50) => openSession(given, "session", { keys: ring, nowSeconds });

test("a session can be decrypted with its key until it expires, and does not reveal its content", () => {
  expect(open(text)).toEqual(session);
  expect(open(text, [other, key])).toEqual(session);
  expect(open(text, keys, 100)).toBeUndefined();
  const shown = Buffer.from(text.split(".")[2] ?? "", "base64url").toString("latin1");
  // Long enough not to occur in random bytes.
  expect(["the-credential", "the-sandbox", "the-uid-of-it"].filter((secret) => shown.includes(secret))).toEqual([]);
});

const [, id, body = ""] = text.split(".");
test.for([
  ["by another key", open(text, [other])],
  ["by another key under its id", open(`s1.${other.id}.${body}`, [other, key])],
  ["as a login link", openSession(text, "login", { keys, nowSeconds: 50 })],
  ["after a bit was changed", open(`s1.${id}.${body.slice(0, 30)}${body[30] === "A" ? "B" : "A"}${body.slice(31)}`)],
  ["with something behind it", open(`${text}.x`)],
  ["with padding", open(`${text}=`)],
  ["without a body", open(`s1.${id}.`)],
  ["of another version", open(`s2.${id}.${body}`)],
  ["when it is a signed token", open(mintV2({ ...claims, use: "session" }, key))],
  ["when it is long", open(`s1.${id}.${"A".repeat(maxSealedLength)}`)],
  ["when it is empty", open("")],
])("is not opened %s", ([, opened]) => {
  expect(opened).toBeUndefined();
});

test("a login link is not valid as a session", () => {
  const link = sealSession({ ...session, claims: { ...claims, use: "login" } }, "login", key);
  expect([open(link), openSession(link, "login", { keys, nowSeconds: 50 })?.claims.use]).toEqual([undefined, "login"]);
});

const jwt = (payload: string): string => `e30.${Buffer.from(payload).toString("base64url")}.c2ln`;
test.for([
  ["a scoped token", { bearer: mintV1({ ns: "n", name: "b", exp: 77 }, key) }, 77],
  ["a scoped token of version 2", { bearer: mintV2({ ...claims, use: "access" }, key) }, 100],
  ["a token of the API server", { bearer: jwt('{"exp":88}') }, 88],
  ["a token that never expires", { bearer: jwt('{"exp":1e999}') }, Number.POSITIVE_INFINITY],
  ["an opaque token", { bearer: "opaque" }, Number.POSITIVE_INFINITY],
  ["a token whose payload is null", { bearer: jwt("null") }, Number.POSITIVE_INFINITY],
  ["a certificate", { certificate: { user: { username: "u" }, untilMs: 99_000 } }, 99],
  ["no credential", {}, Number.POSITIVE_INFINITY],
] as const)("the expiry of %s", ([, grant, expected]) => {
  expect(grantExpiry(grant)).toBe(expected);
});
