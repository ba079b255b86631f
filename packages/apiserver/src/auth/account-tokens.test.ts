import { statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Answer, pod, pods, TestApi, type TestObject } from "../testing/test-api.test.support.ts";
import { tokenKey } from "./token-key.ts";

const accounts = "/api/v1/namespaces/default/serviceaccounts";
const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
const issuer = "https://kubernetes.default.svc.cluster.local";

let api: TestApi;
let account: TestObject;
beforeEach(async () => {
  api = await TestApi.start();
  account = await api.create(accounts, { metadata: { name: "robot" } });
});
afterEach(() => api.server.close());

const request = (spec: object = {}, metadata: object = {}): Promise<Answer> =>
  api.send("POST", `${accounts}/robot/token`, { metadata, spec });

async function issue(spec: object = {}): Promise<string> {
  const { status, body } = await request(spec);
  if (status !== 201) throw new Error(`token: ${status} ${body.message}`);
  return body.status.token;
}

// oxlint-disable-next-line typescript/no-explicit-any
async function review(token: string, audiences?: readonly string[]): Promise<any> {
  const { status, body } = await api.send("POST", reviews, { spec: { token, audiences } });
  expect(status).toBe(201);
  return body.status;
}

const decode = (token: string): unknown => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

describe("a token of a service account", () => {
  test("has the claims of Kubernetes", async () => {
    const { body } = await request({ expirationSeconds: 900 });
    expect(body).toMatchObject({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name: "robot", namespace: "default" },
      spec: { audiences: [issuer], expirationSeconds: 900 },
      status: { expirationTimestamp: "2026-01-01T00:15:00Z" },
    });
    const now = api.clock.atMs / 1000;
    expect(decode(body.status.token)).toEqual({
      aud: [issuer],
      exp: now + 900,
      iat: now,
      iss: issuer,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      "kubernetes.io": { namespace: "default", serviceaccount: { name: "robot", uid: account.metadata.uid } },
      nbf: now,
      sub: "system:serviceaccount:default:robot",
    });
  });

  test("authenticates its service account", async () => {
    const status = await review(await issue());
    expect(status).toEqual({
      authenticated: true,
      audiences: [issuer],
      user: {
        username: "system:serviceaccount:default:robot",
        uid: account.metadata.uid,
        groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=/)] },
      },
    });
  });

  test("is valid until it expires", async () => {
    const token = await issue({ expirationSeconds: 600 });
    api.clock.atMs += 599_000;
    expect(await review(token)).toMatchObject({ authenticated: true });
    api.clock.atMs += 1000;
    expect(await review(token)).toEqual({
      user: {},
      error: "[invalid bearer token, service account token has expired]",
    });
    api.clock.atMs -= 3_600_000;
    expect((await review(token)).error).toContain("not valid yet");
  });

  test("is valid only for its audiences", async () => {
    const token = await issue({ audiences: ["vault", "router"] });
    expect(await review(token, ["router", "other"])).toMatchObject({ authenticated: true, audiences: ["router"] });
    expect((await review(token)).error).toContain('token audiences ["vault" "router"] is invalid');
    expect((await review(await issue(), ["vault"])).error).toContain("is invalid for the target audiences");
  });

  test("becomes invalid when its account is deleted, even if one with the same name is created", async () => {
    const token = await issue();
    await api.send("DELETE", `${accounts}/robot`);
    expect((await review(token)).error).toContain("not found");
    await api.create(accounts, { metadata: { name: "robot" } });
    expect((await review(token)).error).toContain("does not match claim");
  });

  test("becomes invalid when the Pod it is bound to is deleted", async () => {
    const made = await api.create(pods, {
      ...pod("p"),
      spec: { serviceAccountName: "robot", containers: [{ name: "c", image: "i" }] },
    });
    const reference = { kind: "Pod", apiVersion: "v1", name: "p" };
    const token = await issue({ boundObjectRef: reference });
    expect((await review(token)).user.extra).toMatchObject({
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": [made.metadata.uid],
    });
    expect(await request({ boundObjectRef: { ...reference, uid: "other" } })).toMatchObject({ status: 409 });
    await api.send("DELETE", `${pods}/p?gracePeriodSeconds=0`);
    expect((await review(token)).error).toContain("has been invalidated");
  });

  test("becomes invalid when the Secret it is bound to is deleted", async () => {
    const secrets = "/api/v1/namespaces/default/secrets";
    await api.create(secrets, { metadata: { name: "s" } });
    const token = await issue({ boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "s" } });
    expect(await review(token)).toMatchObject({ authenticated: true });
    await api.send("DELETE", `${secrets}/s`);
    await api.create(secrets, { metadata: { name: "s" } });
    expect((await review(token)).error).toContain("has been invalidated");
  });
});

describe("a token is not issued", () => {
  test.for([
    [
      "for less than ten minutes",
      { expirationSeconds: 599 },
      {},
      422,
      "may not specify a duration less than 10 minutes",
    ],
    ["for longer than 2^32 seconds", { expirationSeconds: 2 ** 32 + 1 }, {}, 422, "larger than 2^32"],
    ["for a fraction of a second", { expirationSeconds: 600.5 }, {}, 422, "whole number"],
    ["with an empty audience", { audiences: [""] }, {}, 422, "spec.audiences"],
    [
      "with more than 32 audiences",
      { audiences: Array.from({ length: 33 }, (_, at) => `a${at}`) },
      {},
      422,
      "at most 32",
    ],
    ["under another name", {}, { name: "other" }, 422, "must match the service account name"],
    [
      "for an earlier account with the same name",
      {},
      { uid: "1" },
      409,
      "does not match the UID of the service account",
    ],
    ["for a missing Pod", { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p" } }, {}, 404, "p"],
    [
      "for an object that is not a Pod, Secret or Node",
      { boundObjectRef: { kind: "ConfigMap", apiVersion: "v1", name: "c" } },
      {},
      400,
      "cannot bind token to object of type",
    ],
  ] as const)("%s", async ([, spec, metadata, status, message]) => {
    const answer = await request(spec, metadata);
    expect(answer).toMatchObject({ status, body: { message: expect.stringContaining(message) } });
  });

  test("for a Pod that runs as another account", async () => {
    await api.create(pods, pod("p"));
    expect(await request({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p" } })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("running with different serviceaccount name") },
    });
  });

  test("for a missing account, or with another method than POST", async () => {
    expect((await api.send("POST", `${accounts}/nobody/token`, { spec: {} })).status).toBe(404);
    expect((await api.send("GET", `${accounts}/robot/token`)).status).toBe(405);
  });
});

describe("TokenReview", () => {
  test.for(["x", "a.b.c", "🔑", "y".repeat(100_000)])("does not authenticate the token %.10s", async (token) => {
    expect(await review(token)).toEqual({ user: {}, error: "invalid bearer token" });
  });

  test("needs a token and supports only create", async () => {
    expect((await api.send("POST", reviews, { spec: {} })).status).toBe(400);
    expect((await api.send("GET", reviews)).status).toBe(405);
    expect((await api.send("GET", `${reviews}/x`)).status).toBe(404);
  });
});

test("the OpenID discovery documents let other servers verify tokens", async () => {
  const { body } = await api.send("GET", "/.well-known/openid-configuration");
  expect(body).toMatchObject({ issuer, jwks_uri: `${issuer}/openid/v1/jwks` });
  const { body: keys } = await api.send("GET", "/openid/v1/jwks");
  expect(keys.keys).toMatchObject([{ alg: "ES256", kty: "EC" }]);
  expect(keys.keys[0]).not.toHaveProperty("d");
});

test("the signing key is kept in a file only its owner can read, and is replaced when damaged", async () => {
  const folder = await mkdtemp(join(tmpdir(), "token-key-"));
  try {
    const { id } = tokenKey(folder);
    const path = join(folder, "service-account.key");
    expect(tokenKey(folder).id).toBe(id);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await writeFile(path, "garbage");
    const next = tokenKey(folder).id;
    expect(next).not.toBe(id);
    expect(tokenKey(folder).id).toBe(next);
  } finally {
    await rm(folder, { recursive: true });
  }
});
