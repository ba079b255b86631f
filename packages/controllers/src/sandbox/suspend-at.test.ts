import { runSecondsAnnotation, type Sandbox, suspendAtAnnotation } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { name, namespace, newSandbox, SandboxWorld } from "./sandbox-world.test.support.ts";
import { scheduleOf } from "./suspend-at.ts";

const now = Date.parse("2026-03-01T10:00:00Z");
const later = "2026-03-01T10:00:05.000Z";

const sandbox = (annotations: Record<string, string>, mode?: "Suspended"): Sandbox =>
  newSandbox({ metadata: { name, namespace, uid: "1", annotations }, spec: mode ? { operatingMode: mode } : {} });

const write = (suspendAt: string | null, spec?: object): object => ({
  action: { do: "patch-sandbox", body: { metadata: { annotations: { [suspendAtAnnotation]: suspendAt } }, ...spec } },
});

describe("scheduleOf()", () => {
  test.for([
    ["waits for the time", sandbox({ [suspendAtAnnotation]: later }), { at: now + 5000 }],
    [
      "suspends when the time has come (SLEEP-27)",
      sandbox({ [suspendAtAnnotation]: "2026-03-01T10:00:00Z" }),
      write(null, { spec: { operatingMode: "Suspended" } }),
    ],
    [
      "forgets the time of a Sandbox that is suspended",
      sandbox({ [suspendAtAnnotation]: later }, "Suspended"),
      write(null),
    ],
    ["sets the time of a Sandbox that was resumed (SLEEP-28)", sandbox({ [runSecondsAnnotation]: "5" }), write(later)],
    [
      "keeps a time that is set",
      sandbox({ [runSecondsAnnotation]: "1", [suspendAtAnnotation]: later }),
      { at: now + 5000 },
    ],
    ["does nothing for a suspended Sandbox", sandbox({ [runSecondsAnnotation]: "5" }, "Suspended"), {}],
    ["ignores times that are invalid (SLEEP-29)", sandbox({ [suspendAtAnnotation]: "soon" }), {}],
    [
      "ignores an invalid time beside valid seconds",
      sandbox({ [suspendAtAnnotation]: "soon", [runSecondsAnnotation]: "5" }),
      {},
    ],
    ["ignores seconds that are invalid", sandbox({ [runSecondsAnnotation]: "-5" }), {}],
    ["ignores too many seconds", sandbox({ [runSecondsAnnotation]: "999999999" }), {}],
  ] as const)("%s", ([, seen, expected]) => {
    expect(scheduleOf(seen, now)).toEqual(expected);
  });
});

describe("a Sandbox with suspend-at", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("is suspended at that time and not before, and gets a new time when it is resumed", async () => {
    await world.createRunning({});
    const at = new Date(world.clock.date() + 10_000).toISOString();
    await world.edit({ metadata: { annotations: { [suspendAtAnnotation]: at, [runSecondsAnnotation]: "60" } } });
    await world.settle(9000);
    expect(world.sandbox()?.spec.operatingMode).not.toBe("Suspended");
    await world.settle(3000);
    expect(world.sandbox()?.spec.operatingMode).toBe("Suspended");
    expect(world.sandbox()?.metadata.annotations?.[suspendAtAnnotation]).toBeUndefined();
    await world.setMode("Running");
    await world.settle();
    const next = Date.parse(world.sandbox()?.metadata.annotations?.[suspendAtAnnotation] ?? "");
    expect(next).toBeGreaterThan(world.clock.date() + 50_000);
  });
});
