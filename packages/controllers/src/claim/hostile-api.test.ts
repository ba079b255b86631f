import { sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { seededRandom } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClaimWorld } from "./claim-world.test.support.ts";
import { Ledger } from "./ledger.test.support.ts";

const size = 40;
const names = Array.from({ length: size }, (_, n) => `c${n}`);

describe("with an API server that fails, rejects and loses responses", () => {
  let world: ClaimWorld;
  beforeEach(async () => {
    world = new ClaimWorld();
    world.runPods({ afterMs: () => 300 });
    await world.template();
    await world.pool({ replicas: 20 });
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** 5 % 500, 5 % 429, 2 % lost before and 2 % after the write, 10 % conflicts; watches cut now and then. */
  function breakThings(random: () => number): () => void {
    let broken = true;
    world.server.onRequest = ({ verb }) => {
      if (!broken || verb === "watch" || verb === "list") return undefined;
      const draw = random() * 100;
      if (draw < 5) return { refuse: { reason: "InternalError" } };
      if (draw < 10) return { refuse: { reason: "TooManyRequests", retryAfterSeconds: 1 } };
      if (draw < 12) return { reset: "before" };
      if (draw < 14) return { reset: "after" };
      return draw < 24 && verb === "patch" ? { refuse: { reason: "Conflict" } } : undefined;
    };
    const cut = (): void => {
      if (!broken) return;
      world.server.cutWatches();
      if (random() < 0.5) world.server.compact();
      world.clock.schedule(10_000, cut);
    };
    world.clock.schedule(10_000, cut);
    return () => (broken = false);
  }

  test.for([1, 2, 3])(
    "serves every claim once with less than ten times the writes (seed %i) (RECOVER-11)",
    async (seed) => {
      const random = seededRandom(seed);
      const ledger = new Ledger();
      world.server.onChange((change) => ledger.read(change));
      world.server.watchDelayMs = () => random() * 500;
      const mend = breakThings(random);
      world.startAll();
      await world.clock.advance(20_000);
      for (const name of names) {
        await world.claim(name);
        await world.clock.advance(random() * 200);
      }
      for (const name of names.filter((_, n) => n % 4 === 0)) {
        await world.user.delete(sandboxClaims, { namespace: "default", name });
        await world.clock.advance(random() * 500);
      }
      await world.clock.advance(30_000);
      mend();
      await world.clock.advance(30_000);
      const left = names.filter((_, n) => n % 4 !== 0);
      expect(ledger.broken).toEqual([]);
      expect(left.filter((name) => world.ready(name)?.status !== "True")).toEqual([]);
      expect(left.flatMap((name) => world.owned(world.read(name)).length)).toEqual(left.map(() => 1));
      expect(world.members()).toHaveLength(20);
      expect(ledger.mostMembers).toBeLessThanOrEqual(20);
      expect(world.server.readAll(sandboxes)).toHaveLength(left.length + 20);
      const total = Object.values(world.writes()).reduce((sum, count) => sum + count, 0);
      // Fault-free: 20 members and 40 claims at no more than 9 writes each, beside the test's own.
      expect(total).toBeLessThanOrEqual(10 * 9 * (size + 20));
    },
  );
});
