import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RouterProcess } from "./router-process.ts";
import { RouterWorld } from "./router-world.ts";
import { callSteadily } from "./steady-callers.ts";

/** How long failures are tolerated after a kill. */
const excusedMs = 2000;
/** How long is measured before the next kill. */
const betweenMs = 2 * excusedMs;
/** Can be set to a higher number. */
const kills = Number(process.env["ROUTER_KILLS"] ?? 2);

let world: RouterWorld;
beforeAll(async () => {
  world = await RouterWorld.open();
});
afterAll(() => world[Symbol.asyncDispose]());

/**
 * Two routers, as deployed. All clients use one of them until it is killed, then the other, while the first is restarted.
 * A client does not repeat a failed request; its next one goes to the other router.
 */
test("killing the router repeatedly fails only requests in progress, and nothing is sent twice", {
  timeout: 60_000 + kills * 3 * betweenMs,
}, async () => {
  const arrived = new Map<string, number>();
  let underWay = 0;
  const { port } = await world.sandbox("box", (asked, response) => {
    const id = (asked.url ?? "").slice(1);
    if (asked.method === "POST") arrived.set(id, (arrived.get(id) ?? 0) + 1);
    underWay += 1;
    response.on("close", () => (underWay -= 1));
    // Slow enough that some requests are always in progress.
    asked.resume().on("end", () => setTimeout(() => response.end(id), 50));
  });
  const routers = [world.startRouter(), world.startRouter()];
  const urls = await Promise.all(routers.map(ready));
  const over = new AbortController();
  const headers = {
    "x-sandbox-id": "box",
    "x-sandbox-port": String(port),
    authorization: `Bearer ${world.tokenFor("box")}`,
  };
  const calling = callSteadily({ urls, headers, callers: 200, requestsPerSecond: 500, signal: over.signal });
  await sleep(excusedMs);
  const killedMs: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const victim = kill % 2;
    await expect.poll(() => underWay, { interval: 5 }).toBeGreaterThan(10);
    killedMs.push(performance.now());
    await routers[victim]?.kill();
    routers[victim] = world.startRouter(Number(new URL(urls[victim] ?? "").port));
    await Promise.all([ready(routers[victim]), sleep(betweenMs)]);
  }
  over.abort();
  const outcomes = await calling;

  const isExcused = ({ startedMs, endedMs }: (typeof outcomes)[number]): boolean =>
    killedMs.some((at) => endedMs >= at && startedMs <= at + excusedMs);
  const counted = outcomes.filter((outcome) => !isExcused(outcome));
  const lost = outcomes.filter(({ isGood }) => !isGood);
  expect([...arrived].filter(([, times]) => times > 1)).toEqual([]);
  expect(counted.filter(({ isGood }) => isGood).length / counted.length).toBeGreaterThanOrEqual(0.999);
  // Each kill affected some requests.
  expect(counted.length).toBeGreaterThan(500);
  for (const at of killedMs) {
    expect(lost.some(({ startedMs, endedMs }) => startedMs <= at && endedMs >= at)).toBe(true);
  }
});

/** Resolves when the router serves requests. */
async function ready(router: RouterProcess): Promise<string> {
  const { url, probesAddress } = await router.started;
  await expect
    .poll(async () => (await fetch(`http://127.0.0.1:${probesAddress.port}/readyz`)).status, { timeout: 30_000 })
    .toBe(200);
  return url;
}
