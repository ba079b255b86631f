import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attacks, type Prey } from "../../packages/router/src/hostile-mix.test.support.ts";
import { RouterWorld } from "./router-world.ts";
import { callSteadily } from "./steady-callers.ts";

const attackMs = 4000;
const open = new DisposableStack();
let world: RouterWorld;
beforeAll(async () => {
  world = await RouterWorld.open();
});
afterAll(async () => {
  open.dispose();
  await world[Symbol.asyncDispose]();
});

/** Resident memory in KiB, from /proc. */
function memory(pid: number, field: "VmRSS" | "VmHWM"): number {
  const [, kib] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib);
}

/** The lowest value while the router is idle. */
async function idleMemory(pid: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 10; look += 1) {
    least = Math.min(least, memory(pid, "VmRSS"));
    await sleep(150);
  }
  return least;
}

/**
 * Stalled connections that stay open until the end of the test: 50 with HTTP/1.1 and 64 HTTP/2 streams. With many more,
 * the test would measure the kernel's socket buffers instead.
 */
function besiege(at: { host: string; port: number }, headers: Record<string, string>): void {
  const keep = (socket: Socket): Socket =>
    open.adopt(
      socket.on("error", () => undefined),
      (held) => held.destroy(),
    );
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = (first: string, ...more: string[]) => `${[first, "Host: x", ...lines, ...more].join("\r\n")}\r\n\r\n`;
  for (let number = 0; number < 10; number += 1) {
    // Requests an endless response and does not read it.
    keep(connect(at)).pause().write(head("GET /endless HTTP/1.1"));
    // Sends an endless body to a sandbox that does not read it.
    const upload = keep(connect(at));
    upload.write(head("POST /deaf HTTP/1.1", "Content-Length: 10000000000"));
    const more = (): void =>
      void (upload.write(Buffer.alloc(65_536)) ? setImmediate(more) : upload.once("drain", more));
    more();
    // Sends nothing, or an incomplete request.
    keep(connect(at));
    keep(connect(at)).write(`GET / HTTP/1.1\r\nX-Long: ${"x".repeat(60_000)}`);
    // Sends more requests without reading responses.
    keep(connect(at)).pause().write(head("GET /endless HTTP/1.1").repeat(1000));
  }
  for (let number = 0; number < 4; number += 1) {
    const session: ClientHttp2Session = connectHttp2(`http://${at.host}:${at.port}`);
    session.on("error", () => undefined);
    open.adopt(session, (held) => held.destroy());
    for (let stream = 0; stream < 8; stream += 1) {
      session
        .request({ ":path": "/endless", ...headers })
        .on("error", () => undefined)
        .pause();
      const deaf = session.request({ ":path": "/deaf", ":method": "POST", ...headers }).on("error", () => undefined);
      deaf.write(Buffer.alloc(2 ** 20));
    }
  }
}

/**
 * Compares the resident memory of the router's process. Before: the lowest value in 1.5 s without traffic, after 2 s of
 * regular traffic. Under attack: the highest value at any time, including garbage that V8 has not collected yet.
 */
test("the router uses at most twice its idle memory under attack", async () => {
  const { port } = await world.sandbox("box", (asked, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      if (!response.destroyed) response.once("drain", more);
    };
    if (asked.url === "/endless") return more();
    if (asked.url === "/deaf") return;
    asked.resume().on("end", () => response.end((asked.url ?? "").slice(1)));
  });
  const router = world.startRouter();
  const { url } = await router.started;
  const at = { host: "127.0.0.1", port: Number(new URL(url).port) };
  const headers = {
    "x-sandbox-id": "box",
    "x-sandbox-port": String(port),
    authorization: `Bearer ${world.tokenFor("box")}`,
  };
  const good = (ms: number) =>
    callSteadily({ urls: [url], headers, callers: 50, requestsPerSecond: 200, signal: AbortSignal.timeout(ms) });
  await expect
    .poll(
      () =>
        new Promise((resolve) =>
          request(url, { headers, path: "/x" }, (answer) => resolve(answer.resume().statusCode)).end(),
        ),
    )
    .toBe(200);
  // The idle memory after some work.
  await good(2000);
  const idle = await idleMemory(router.pid);

  // Resets the kernel's record of the peak.
  writeFileSync(`/proc/${router.pid}/clear_refs`, "5");
  besiege(at, headers);
  const prey: Prey = {
    ...at,
    sandbox: "victim",
    sandboxPort: port,
    podIp: "127.78.0.9",
    own: "box",
    ownToken: world.tokenFor("box"),
    badTokens: ["forged", world.tokenFor("victim").slice(0, -1)],
  };
  const until = performance.now() + attackMs;
  const attacking = Object.values(attacks).map(async (run) => {
    for (let turn = 0; performance.now() < until; turn += 1) {
      await run(prey, turn);
      await sleep(5);
    }
  });
  const outcomes = await good(attackMs);
  await Promise.all(attacking);
  const most = memory(router.pid, "VmHWM");
  expect(most / idle).toBeLessThanOrEqual(2);
  expect(outcomes.filter(({ isGood }) => isGood).length / outcomes.length).toBeGreaterThanOrEqual(0.999);
});
