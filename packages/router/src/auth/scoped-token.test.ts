import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Keyring, type SigningKey, signingKey } from "./keyring.ts";
import { mintV1, mintV2, type TokenClaims, verifyToken } from "./scoped-token.ts";

const key = (text: string): SigningKey => {
  const made = signingKey(text);
  if ("error" in made) throw new Error(made.error);
  return made;
};
const secret = "k".repeat(32);
const keys: Keyring = [key(secret)];
const known =
  "v1.eyJucyI6ImRlZmF1bHQiLCJuYW1lIjoiYm94LWEiLCJleHAiOjQxMDI0NDQ4MDB9.8FlrlboX6YfA-FhkloiVsdQTtiK_pi0-OADxIbS5jwI";
const claims = { ns: "default", name: "box-a", exp: 4_102_444_800 };
const extended: TokenClaims = { ...claims, uid: "u1", id: "t1", iat: 1_700_000_000.5, use: "access", ports: [3000] };

describe("version 1", () => {
  test("has the format of the reference implementation", () => {
    expect(mintV1(claims, keys[0])).toBe(known);
    expect(verifyToken(known, keys, 4_102_444_799)).toEqual({ version: 1, claims });
  });

  test("is not valid from its expiry on", () => {
    expect(verifyToken(known, keys, 4_102_444_800)).toBeUndefined();
  });

  test("accepts a key file with a trailing line break", () => {
    expect(verifyToken(known, [key(`${secret}\n`)], 0)).toEqual({ version: 1, claims });
  });

  const [, payload = "", signature = ""] = known.split(".");
  const bare = createHmac("sha256", secret).update(payload).digest("base64url");
  const forged = Buffer.from(JSON.stringify({ ...claims, name: "box-b" })).toString("base64url");
  test.for([
    ["without its version", `${payload}.${signature}`],
    ["signed without the context", `v1.${payload}.${bare}`],
    ["with another payload", `v1.${forged}.${signature}`],
    ["with a bit more", `${known}.x`],
    ["with padding", `${known}=`],
    ["with the last bits of the signature changed", `${known.slice(0, -1)}J`],
    ["without a signature", `v1.${payload}.`],
    ["that is empty", ""],
    ["that is dots", "v1.."],
    ["that is a megabyte", `v1.${"a".repeat(1_000_000)}.b`],
    ["of another version", known.replace("v1", "v2")],
    ["of an unknown version", known.replace("v1", "v3")],
  ])("refuses one %s", ([, token = ""]) => {
    expect(verifyToken(token, keys, 0)).toBeUndefined();
  });

  test.for([
    ["no JSON", "nope"],
    ["no object", "7"],
    ["null", "null"],
    ["no expiry", JSON.stringify({ ns: "a", name: "b" })],
    ["an expiry that is text", JSON.stringify({ ns: "a", name: "b", exp: "4102444800" })],
    ["an expiry that never comes", '{"ns":"a","name":"b","exp":1e999}'],
  ])("refuses claims that are %s, although they are signed", ([, text = ""]) => {
    const body = Buffer.from(text).toString("base64url");
    const sealed = createHmac("sha256", secret).update(`agent-sandbox/scoped-token/v1.${body}`).digest("base64url");
    expect(verifyToken(`v1.${body}.${sealed}`, keys, 0)).toBeUndefined();
  });

  test("ignores other claims than its three", () => {
    const body = Buffer.from(JSON.stringify({ ...claims, use: "session", ports: [1] })).toString("base64url");
    const sealed = createHmac("sha256", secret).update(`agent-sandbox/scoped-token/v1.${body}`).digest("base64url");
    expect(verifyToken(`v1.${body}.${sealed}`, keys, 0)).toEqual({ version: 1, claims });
  });
});

describe("version 2", () => {
  test("has the claims it was minted with", () => {
    expect(verifyToken(mintV2(extended, keys[0]), keys, 1_700_000_001)).toEqual({ version: 2, claims: extended });
  });

  test("is valid while its key is in the keyring", () => {
    const token = mintV2(extended, keys[0]);
    const newer = key("n".repeat(32));
    expect(verifyToken(token, [newer, keys[0]], 0)).toBeDefined();
    expect(verifyToken(token, [newer], 0)).toBeUndefined();
  });

  test("is not valid as another version with the same signature", () => {
    const [, , payload, signature] = mintV2(extended, keys[0]).split(".");
    expect(verifyToken(`v1.${payload}.${signature}`, keys, 0)).toBeUndefined();
  });

  test("is refused without a UID or with invalid ports", () => {
    const { uid: _, ...rest } = extended;
    expect(verifyToken(mintV2(rest, keys[0]), keys, 0)).toBeUndefined();
    expect(verifyToken(mintV2({ ...extended, ports: ["80"] as never }, keys[0]), keys, 0)).toBeUndefined();
  });
});

test("refuses a short key", () => {
  expect(signingKey(` ${"k".repeat(31)} `)).toHaveProperty("error");
});
