import { claimFirstReadyAtAnnotation, sandboxes } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { ClaimWorld } from "./claim-world.test.support.ts";
import { Ledger } from "./ledger.test.support.ts";

/** More than the writes of one claim's life with its refill: the last of them kill nobody. */
const lives = Array.from({ length: 12 }, (_, k) => k + 1);

/** The process is cut off for good once it has made so many writes; with the last one, whether it hears the answer or not. */
function killAfter(world: ClaimWorld, writes: number, hearsAnswer: boolean): void {
  let made = 0;
  world.server.onRequest = ({ verb }) => {
    const isWrite = verb !== "get" && verb !== "list" && verb !== "watch";
    if (made >= writes) return { reset: "before" };
    if (isWrite) made += 1;
    return isWrite && made === writes && !hearsAnswer ? { reset: "after" } : undefined;
  };
}

/** As the manager has it. */
const options = {};

describe("a controller killed after each single write of a claim's life", () => {
  async function live(kind: "warm" | "cold", writes: number, hearsAnswer: boolean): Promise<object> {
    await using world = new ClaimWorld();
    const ledger = new Ledger();
    world.server.onChange((change) => ledger.read(change));
    world.runPods({ afterMs: () => 100 });
    await world.template();
    await world.pool({ replicas: kind === "warm" ? 2 : 0 });
    world.startAll(options);
    await world.clock.advance(30_000);
    killAfter(world, writes, hearsAnswer);
    await world.claim("one");
    await world.clock.advance(5_000);
    const ended = world.endProcess();
    await world.clock.advance(60_000);
    await ended;
    world.server.onRequest = undefined;
    world.startAll(options);
    await world.clock.advance(30_000);
    const { readyTimes, broken, mostMembers } = ledger;
    const owned = world.owned(world.read("one")).map(({ metadata }) => metadata.name);
    return {
      isReady: world.ready("one")?.status,
      readyTimes: readyTimes.get("one"),
      isBoundToItsOwn: owned.length === 1 && owned[0] === world.read("one")?.status?.sandbox?.name,
      sandboxes: world.server.readAll(sandboxes).length,
      isStamped: world.read("one")?.metadata.annotations?.[claimFirstReadyAtAnnotation] !== undefined,
      mostMembers,
      broken,
    };
  }

  const matrix = (["warm", "cold"] as const).flatMap((kind) =>
    [true, false].flatMap((hears) => lives.map((writes) => [kind, writes, hears] as const)),
  );
  test.for(matrix)(
    "%s, after write %i (response received: %s), ends with the same objects (RECOVER-10)",
    async ([kind, writes, hears]) => {
      expect(await live(kind, writes, hears)).toEqual({
        isReady: "True",
        readyTimes: 1,
        isBoundToItsOwn: true,
        sandboxes: kind === "warm" ? 3 : 1,
        isStamped: true,
        mostMembers: kind === "warm" ? 2 : 0,
        broken: [],
      });
    },
  );
});
