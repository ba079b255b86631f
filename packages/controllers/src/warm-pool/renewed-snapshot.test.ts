import { type Sandbox, type SandboxSnapshot, sandboxes, sandboxSnapshots, sandboxTemplates } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readyStatus, templateOf } from "../extensions.test.support.ts";
import { PoolWorld } from "./pool-world.test.support.ts";

const key = { namespace: "default", name: "golden" };

describe("a pool whose template names a snapshot", () => {
  let world: PoolWorld;
  beforeEach(async () => {
    world = new PoolWorld();
    world.startPools();
    await world.user.create(sandboxTemplates, templateOf({ restoreFrom: { snapshotRef: { name: "golden" } } }));
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** Takes the snapshot, and returns its UID when it is ready. */
  async function take(): Promise<string> {
    const created = await world.user.create(sandboxSnapshots, {
      metadata: key,
      spec: { sandboxRef: { name: "source" } },
    } as SandboxSnapshot);
    await world.settled();
    const ready = {
      type: "Ready",
      status: "True",
      reason: "",
      message: "",
      lastTransitionTime: "2030-01-01T00:00:00Z",
    };
    const patch = { type: "merge", body: { status: { conditions: [ready] } } } as const;
    await world.user.patch(sandboxSnapshots, key, patch, { subresource: "status" });
    await world.settled();
    return created.metadata.uid ?? "";
  }

  /** Restores the members that are not restored yet, as the Sandbox controller does. */
  async function restore(uid: string): Promise<void> {
    for (const { metadata, status } of world.members()) {
      if (status?.suspension?.restoredFrom !== undefined) continue;
      const suspension = { epoch: 1, restored: "Memory", restoredFrom: { name: "golden", uid } };
      const patch = { type: "merge", body: { status: { ...readyStatus, suspension } } } as const;
      await world.user.patch(sandboxes, { namespace: "default", name: metadata.name ?? "" }, patch, {
        subresource: "status",
      });
    }
    await world.settled();
  }

  const uids = (): (string | undefined)[] =>
    world.members().map(({ status }: Sandbox) => status?.suspension?.restoredFrom?.uid);

  test.for([
    ["Recreate", true],
    ["OnReplenish", false],
  ] as const)(
    "with %s, replaces members when the snapshot was taken again: %s (STATE-30)",
    async ([type, replaces]) => {
      const old = await take();
      await world.createPool({ replicas: 3, updateStrategy: { type } });
      await world.settled();
      await restore(old);
      expect(uids()).toEqual([old, old, old]);

      await world.user.delete(sandboxSnapshots, key);
      await world.settled();
      expect(uids()).toEqual([old, old, old]);

      const renewed = await take();
      await restore(renewed);
      expect(uids()).toEqual(Array<string>(3).fill(replaces ? renewed : old));
      expect(world.created).toBe(replaces ? 6 : 3);
    },
  );
});
