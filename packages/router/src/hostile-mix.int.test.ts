import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { signingKey } from "./auth/keyring.ts";
import { mintV1 } from "./auth/scoped-token.ts";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import { attacks, type Prey } from "./hostile-mix.test.support.ts";
import type { Router } from "./start-router.ts";

/** Can be set to a longer time. */
const seconds = Number(process.env["HOSTILE_MIX_SECONDS"] ?? 15);
const requestsPerSecond = 500;
const tenants = ["one", "two", "three", "four"];
const nowSeconds = Math.floor(Date.now() / 1000);

const cluster = new TestCluster();
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const key = keyOf("k".repeat(32));
let router: Router;
let port: number;
let attacked: Served;
let moving: Served;

function keyOf(secret: string) {
  const made = signingKey(secret);
  if ("error" in made) throw new Error(made.error);
  return made;
}

const tokenFor = (name: string, exp = nowSeconds + 3600): string => mintV1({ ns: "default", name, exp }, key);
const authorised = (name: string) => toSandbox(name, port, { Authorization: `Bearer ${tokenFor(name)}` });

/** A pod whose responses name its tenant, so that a response for the wrong tenant is detected. */
async function serveTenant(name: string, ip: string, at: number): Promise<Served> {
  const served = await cluster.serve(
    (request, response) => void request.resume().on("end", () => response.end(`this is ${name}`)),
    { ip, port: at },
  );
  new WebSocketServer({ server: served.server }).on("connection", (socket) => socket.send(`this is ${name}`));
  return served;
}

beforeAll(async () => {
  attacked = await serveTenant("victim", TestCluster.nextIp(), 0);
  ({ port } = attacked);
  await cluster.pod(await cluster.sandbox("victim"), attacked.ip);
  for (const name of [...tenants, "attacker"]) {
    const served = await serveTenant(name, TestCluster.nextIp(), port);
    await cluster.pod(await cluster.sandbox(name), served.ip);
  }
  moving = await serveTenant("moving-a", TestCluster.nextIp(), port);
  await cluster.pod(await cluster.sandbox("moving-a"), moving.ip, { name: "moving-a-0" });
  await cluster.sandbox("moving-b");
  router = await cluster.router({
    auth: { keys: [key], tokenReview: false },
    headMs: 1000,
    holdMs: 200,
    retries: { max: 1, firstDelayMs: 1 },
  });
});
afterAll(async () => {
  agent.destroy();
  await cluster[Symbol.asyncDispose]();
});

/** Sends requests at a fixed rate, whatever their outcome. */
async function goodTraffic(until: number): Promise<{ sent: number; good: number; wrong: string[] }> {
  const outcome = { sent: 0, good: 0, wrong: [] as string[] };
  const started = performance.now();
  const pending: Promise<void>[] = [];
  const one = async (name: string): Promise<void> => {
    const method = outcome.sent % 3 === 0 ? { method: "POST", body: "some text" } : {};
    const { status, text } = await ask(router, "/good", { ...authorised(name), ...method, agent });
    if (status === 200 && text === `this is ${name}`) outcome.good += 1;
    else if (status === 200) outcome.wrong.push(`${name}: ${text}`);
  };
  while (performance.now() < until) {
    const due = Math.floor(((performance.now() - started) / 1000) * requestsPerSecond);
    for (; outcome.sent < due; outcome.sent += 1) {
      pending.push(one(tenants[outcome.sent % tenants.length] as string).catch(() => undefined));
    }
    await sleep(5);
  }
  await Promise.all(pending);
  return outcome;
}

/** Repeats every kind of attack. Returns the responses that contain data of other tenants. */
async function attack(until: number): Promise<{ turns: number; wrong: string[]; answered: Set<string> }> {
  const { host = "", port: at = 0 } = router.address ?? {};
  const otherKey = keyOf("x".repeat(32));
  const claims = { ns: "default", name: "victim", exp: nowSeconds + 3600 };
  const prey: Prey = {
    host,
    port: at,
    sandbox: "victim",
    sandboxPort: port,
    podIp: attacked.ip,
    own: "attacker",
    ownToken: tokenFor("attacker"),
    badTokens: [
      tokenFor("victim", nowSeconds - 1),
      tokenFor("victim").slice(0, -1),
      mintV1(claims, otherKey),
      tokenFor("victim").replace("v1.", "v2."),
      `v1.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.`,
      tokenFor("attacker"),
    ],
  };
  const outcome = { turns: 0, wrong: [] as string[], answered: new Set<string>() };
  await Promise.all(
    Object.entries(attacks).map(async ([name, run]) => {
      for (let turn = 0; performance.now() < until; turn += 1) {
        const answer = await run(prey, turn);
        outcome.turns += 1;
        if (answer !== "") outcome.answered.add(name);
        if (/this is (?!attacker)/.test(answer)) outcome.wrong.push(`${name} ${turn}: ${answer}`);
        await sleep(5);
      }
    }),
  );
  return outcome;
}

/** Two tenants whose pods get the same address in turn within 10 ms, while both send requests. */
async function reuseAddress(until: number): Promise<{ moves: number; right: number; wrong: string[] }> {
  const outcome = { moves: 0, right: 0, wrong: [] as string[] };
  const asking = ["moving-a", "moving-b"].map(async (name) => {
    while (performance.now() < until) {
      const { status, text } = await ask(router, "/", authorised(name));
      if (status === 200 && text === `this is ${name}`) outcome.right += 1;
      else if (status === 200) outcome.wrong.push(`${name}: ${text}`);
      await sleep(1);
    }
  });
  let owner = "moving-a";
  while (performance.now() < until) {
    await cluster.removePod(`${owner}-${outcome.moves}`);
    await moving.close();
    owner = owner === "moving-a" ? "moving-b" : "moving-a";
    outcome.moves += 1;
    moving = await serveTenant(owner, moving.ip, port);
    await cluster.pod(await sandboxNamed(owner), moving.ip, { name: `${owner}-${outcome.moves}` });
    await sleep(150);
  }
  await Promise.all(asking);
  return outcome;
}

async function sandboxNamed(name: string) {
  const { sandboxes } = await import("@agent-sandbox/api");
  return cluster.client.get(sandboxes, { namespace: "default", name });
}

test("regular clients are served during all attacks, and nobody gets another's response", {
  timeout: (seconds + 30) * 1000,
}, async () => {
  const until = performance.now() + seconds * 1000;
  const [good, attacking, reused] = await Promise.all([goodTraffic(until), attack(until), reuseAddress(until)]);
  expect([good.wrong, attacking.wrong, reused.wrong]).toEqual([[], [], []]);
  // A busy machine sends fewer: the share of good answers counts, not their number per second.
  expect(good.sent).toBeGreaterThanOrEqual(Math.floor((seconds * requestsPerSecond) / 4));
  expect(good.good / good.sent).toBeGreaterThanOrEqual(0.999);
  // Every part of the test ran.
  expect(attacking.turns).toBeGreaterThan(Object.keys(attacks).length * 2);
  const answered = ["smuggle", "spoof", "badToken", "path", "oversize", "socket", "http2"];
  expect(answered.filter((name) => !attacking.answered.has(name))).toEqual([]);
  expect(Math.min(reused.moves, reused.right)).toBeGreaterThan(5);
});
