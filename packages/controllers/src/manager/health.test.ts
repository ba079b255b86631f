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

test("is ready while it waits for the lease, once the API server has answered with any status (MANAGER-15)", async () => {
  const { health, ask } = openRig();
  expect(health.readinessProblem).toBe("the manager is starting");
  health.phase = "waiting";
  expect(health.readinessProblem).toBe("the API server has not answered yet");
  await ask(false);
  expect(health.readinessProblem).toBeUndefined();
  health.phase = "syncing";
  expect(health.readinessProblem).toBe("the caches are being filled");
  health.phase = "working";
  expect(health.readinessProblem).toBeUndefined();
  health.phase = "stopping";
  expect(health.readinessProblem).toBe("the manager is stopping");
  expect(health.livenessProblem).toBeUndefined();
});

test("is not ready but alive when the API server is unreachable (MANAGER-15)", async () => {
  const { health, ask, pass } = openRig();
  health.phase = "working";
  await ask(false);
  await ask(true);
  pass(4_999);
  expect(health.readinessProblem).toBeUndefined();
  await ask(true);
  pass(1);
  expect(health.readinessProblem).toBe("the API server has not answered for 5 s");
  expect(health.livenessProblem).toBeUndefined();
  await ask(false);
  expect(health.readinessProblem).toBeUndefined();
});

test("is not alive when the lease is lost and the process still runs (MANAGER-15)", async () => {
  const { health, ask } = openRig();
  health.phase = "working";
  await ask(false);
  health.leadershipLost();
  expect(health.livenessProblem).toContain("the lease was lost");
  expect(health.readinessProblem).toContain("the lease was lost");
});
