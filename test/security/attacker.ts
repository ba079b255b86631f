import { afterAll, beforeAll } from "vitest";
import type { Tenant } from "./tenant.ts";
import { enterWorld, type World } from "./world.ts";

export interface Attacker {
  readonly world: World;
  readonly mallory: Tenant;
}

/** Enters the world with a new tenant for the tests of the current `describe`. Use the result only in hooks and tests. */
export function useAttacker(): Attacker {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });
  return {
    get world() {
      return world;
    },
    get mallory() {
      return mallory;
    },
  };
}
