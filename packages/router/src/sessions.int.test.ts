import { once } from "node:events";
import { get as httpGet, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Keyring, type SigningKey, signingKey } from "./auth/keyring.ts";
import { mintV1 } from "./auth/scoped-token.ts";
import { ask, endless, type ResponseWriter, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

/** A session gives no more access than its credential, and ends with it. */
const cluster = new TestCluster();
const key = signingKey("k".repeat(32)) as SigningKey;
const domain = "default.localhost";
let router: Router;
let pod: Served;

beforeAll(async () => {
  pod = await cluster.serve((_, response) => response.end("ok"));
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  router = await cluster.router({ auth: { keys: [key], tokenReview: { ttlMs: 20 } } });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const opened = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
const hostOf = (name = "box"): string => `${pod.port}-${name}.${domain}`;
const browse = (path: string, cookie = "", name = "box", by = router): Promise<ResponseWriter> =>
  ask(by, path, { headers: { ...opened, host: hostOf(name), cookie } });

async function offer(bearer: string, { name = "box", ports = [pod.port], by = router } = {}): Promise<ResponseWriter> {
  const headers = { Authorization: `Bearer ${bearer}` };
  const body = JSON.stringify({ ports });
  return ask(by, `/router/v1/namespaces/default/sandboxes/${name}/logins`, { method: "POST", body, headers });
}

async function linkOf(bearer: string, options: Parameters<typeof offer>[1] = {}): Promise<string> {
  const { text } = await offer(bearer, options);
  const { pathname, search } = new URL((JSON.parse(text) as { url: string }).url);
  return `${pathname}${search}`;
}

/** The cookie of a session created with this credential. */
async function logIn(bearer: string, options: Parameters<typeof offer>[1] = {}): Promise<string> {
  const { headers } = await browse(await linkOf(bearer, options), "", options.name, options.by);
  return headers["set-cookie"]?.[0] ?? "";
}

const pairOf = (cookie: string): string => cookie.split(";")[0] ?? "";
const maxAge = (cookie: string): number => Number(/Max-Age=(\d+)/.exec(cookie)?.[1]);
const statusOf = async (cookie: string, name = "box"): Promise<number> =>
  (await browse("/", pairOf(cookie), name)).status;
const alice = (token: string): void =>
  void cluster.users.set(token, { username: "alice", mayConnect: ["default/box", "default/again"] });

test("a session created with a scoped token expires with the token", async () => {
  const exp = Math.floor(Date.now() / 1000) + 3;
  const token = mintV1({ ns: "default", name: "box", exp }, key);
  const cookie = await logIn(token);
  expect(await statusOf(cookie)).toBe(200);
  expect(maxAge(cookie)).toBeLessThanOrEqual(3);
  await sleep(exp * 1000 - Date.now());
  expect(await statusOf(cookie)).toBe(401);
});

test("a login link created with a scoped token expires with the token", async () => {
  const exp = Math.floor(Date.now() / 1000) + 2;
  const link = await linkOf(mintV1({ ns: "default", name: "box", exp }, key));
  await sleep(exp * 1000 - Date.now());
  expect((await browse(link)).status).toBe(401);
});

test("a scoped token cannot create a session for another port or sandbox", async () => {
  alice("alice-ports");
  await cluster.pod(await cluster.sandbox("other"), pod.ip);
  const headers = { Authorization: "Bearer alice-ports" };
  const path = "/router/v1/namespaces/default/sandboxes/box/tokens";
  const { text } = await ask(router, path, { method: "POST", body: '{"ports":[1]}', headers });
  const { token } = JSON.parse(text) as { token: string };
  expect([(await offer(token)).status, (await offer(token, { ports: [1], name: "other" })).status]).toEqual([403, 403]);
  expect((await offer(token, { ports: [1] })).status).toBe(201);
});

test("a session ends when its API server token becomes invalid", async () => {
  const exp = Math.floor(Date.now() / 1000) + 600;
  const jwt = `e30.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}.sig`;
  alice(jwt);
  const cookie = await logIn(jwt);
  expect([await statusOf(cookie), maxAge(cookie) <= 600]).toEqual([200, true]);
  cluster.users.delete(jwt);
  await expect.poll(() => statusOf(cookie)).toBe(401);
});

test("a login link is refused after its credential became invalid", async () => {
  alice("short");
  const link = await linkOf("short");
  cluster.users.delete("short");
  await sleep(30);
  expect((await browse(link)).status).toBe(401);
});

test("a session ends when its user may no longer connect", async () => {
  const rita = (mayConnect: string[]): unknown => cluster.users.set("rita", { username: "rita", mayConnect });
  rita(["default/box"]);
  const cookie = await logIn("rita");
  expect([await statusOf(cookie), maxAge(cookie)]).toEqual([200, 28_800]);
  rita([]);
  await expect.poll(() => statusOf(cookie)).toBe(401);
});

test("a session ends with its sandbox and is not valid for a later one of the same name", async () => {
  alice("alice-again");
  await cluster.pod(await cluster.sandbox("again"), pod.ip);
  await expect.poll(async () => (await offer("alice-again", { name: "again" })).status).toBe(201);
  const cookie = await logIn("alice-again", { name: "again" });
  const link = await linkOf("alice-again", { name: "again" });
  expect(await statusOf(cookie, "again")).toBe(200);
  await cluster.removePod("again");
  await cluster.client.delete(sandboxes, { namespace: "default", name: "again" });
  await cluster.pod(await cluster.sandbox("again"), pod.ip);
  const fresh = (): Promise<string> => logIn("alice-again", { name: "again" });
  await expect.poll(async () => statusOf(await fresh(), "again")).toBe(200);
  expect([await statusOf(cookie, "again"), (await browse(link, "", "again")).status]).toEqual([401, 403]);
});

test("a valid session cookie works among several invalid ones", async () => {
  alice("alice-many");
  const good = pairOf(await logIn("alice-many"));
  const expired = pairOf(
    await logIn(mintV1({ ns: "default", name: "box", exp: Math.floor(Date.now() / 1000) + 1 }, key)),
  );
  await sleep(1000);
  const bad = ["agent-sandbox-session=", "agent-sandbox-session=s1.x.y", expired];
  expect((await browse("/", [...bad, good].join("; "))).status).toBe(200);
});

test("open requests end soon after their credential becomes invalid, and not before", async () => {
  const stream = await cluster.serve((_, response) => void endless(response), { ip: pod.ip });
  stream.server.on("upgrade", (_, socket) => {
    socket.resume().on("error", () => undefined);
    socket.on("end", () => socket.destroy());
    socket.write("HTTP/1.1 101 Switching ProtocolServer\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  });
  const strict = await cluster.router({ auth: { keys: [key] }, recheckMs: 50 });
  const exp = Math.floor(Date.now() / 1000) + 2;
  const tokens = [exp, exp + 3600].map((at) => mintV1({ ns: "default", name: "box", exp: at }, key));
  const opened = tokens.map(async (token) => {
    const { headers } = toSandbox("box", stream.port, { Authorization: `Bearer ${token}` });
    const to = { ...strict.address, headers, agent: false } as const;
    const [download] = (await once(httpGet(to), "response")) as [IncomingMessage];
    const sent = request({ ...to, method: "CONNECT", path: `box.default.localhost:${stream.port}` }).end();
    const [, tunnel] = (await once(sent, "connect")) as [IncomingMessage, Socket];
    const upgrade = { ...headers, Connection: "Upgrade", Upgrade: "websocket" };
    const switched = once(httpGet({ ...to, headers: upgrade }), "upgrade");
    const [, socket] = (await switched) as [IncomingMessage, Socket];
    return [download, tunnel, socket].map((open) => open.resume().on("error", () => undefined));
  });
  const [short = [], long = []] = await Promise.all(opened);
  await expect.poll(() => short.map(({ destroyed }) => destroyed), { timeout: 5000 }).toEqual([true, true, true]);
  expect([Date.now() >= exp * 1000, ...long.map(({ destroyed }) => destroyed)]).toEqual([true, false, false, false]);
  for (const open of long) open.destroy();
});

test("a session ends when tokens are revoked and when its key is removed", async () => {
  let keys: Keyring = [key];
  const auth = {
    get keys() {
      return keys;
    },
  };
  alice("alice-keys");
  const ring = await cluster.router({ auth });
  const cookie = await logIn("alice-keys", { by: ring });
  const get = async (by: Router): Promise<number> => (await browse("/", pairOf(cookie), "box", by)).status;
  expect(await get(ring)).toBe(200);
  keys = [signingKey("n".repeat(32)) as SigningKey];
  const rotated = await cluster.router({ auth });
  expect(await get(rotated)).toBe(401);
  const headers = { Authorization: "Bearer alice-keys" };
  await ask(ring, "/router/v1/namespaces/default/sandboxes/box/tokens", { method: "DELETE", headers });
  await expect.poll(() => get(ring)).toBe(401);
});

test("a credential that is too long for a cookie is refused", async () => {
  const long = "x".repeat(4000);
  alice(long);
  expect((await offer(long)).status).toBe(400);
});
