import type { Transport } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { Health } from "./health.ts";

function openRig() {
  let now = 0;
  let isAway = false;
  const health = new Health(() => now);
  const upstream: Transport = {
    send: () => (isAway ? Promise.reject(new Error("away")) : Promise.resolve({ status: 500, headers: {}, body: {} })),
    stream: () => Promise.reject(new Error("away")),
    close: () => Promise.resolve(),
  };
  const transport = health.watching(upstream);
  return {
    health,
    pass: (ms: number) => (now += ms),
    ask: async (away: boolean) => {
      isAway = away;
      await transport.send({ method: "GET", path: "/" }).catch(() => undefined);
    },
  };
}

test("is ready while it waits for the lease, once the API server has answered, whatever it said", async () => {
  const { health, ask } = openRig();
  expect(health.unreadiness).toBe("the manager is starting");
  health.phase = "waiting";
  expect(health.unreadiness).toBe("the API server has not answered yet");
  await ask(false);
  expect(health.unreadiness).toBeUndefined();
  health.phase = "syncing";
  expect(health.unreadiness).toBe("the caches are being filled");
  health.phase = "working";
  expect(health.unreadiness).toBeUndefined();
  health.phase = "stopping";
  expect(health.unreadiness).toBe("the manager is stopping");
  expect(health.sickness).toBeUndefined();
});

test("is not ready when the API server is away for long, and needs no restart for that", async () => {
  const { health, ask, pass } = openRig();
  health.phase = "working";
  await ask(false);
  await ask(true);
  pass(4_999);
  expect(health.unreadiness).toBeUndefined();
  await ask(true);
  pass(1);
  expect(health.unreadiness).toBe("the API server has not answered for 5 s");
  expect(health.sickness).toBeUndefined();
  await ask(false);
  expect(health.unreadiness).toBeUndefined();
});

test("is sick when the lease is lost and the process still lives", async () => {
  const { health, ask } = openRig();
  health.phase = "working";
  await ask(false);
  health.leadershipLost();
  expect(health.sickness).toContain("the lease was lost");
  expect(health.unreadiness).toContain("the lease was lost");
});
