import { existsSync } from "node:fs";
import { join } from "node:path";
import { sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun, namespace, podOf, StateBox, soon } from "./state-box.ts";

describe.skipIf(cannotRun)("snapshots in a box", () => {
  let box: StateBox;

  beforeAll(async () => {
    box = await StateBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  const exists = (name: string): Promise<boolean> => box.exists(sandboxSnapshots, name);
  const filesOf = (uid = ""): boolean => existsSync(join(box.box.dataDir, "node", "state", "snapshots", uid));

  test("a snapshot goes with its Sandbox, and a retained one stays until it expires", async () => {
    await box.run("source", { podTemplate: podOf(["sleep", "infinity"]) });
    const owned = await box.snapshot("owned", "source");
    const retained = await box.snapshot("retained", "source", { deletionPolicy: "Retain" });
    expect(owned.status).toMatchObject({ depth: "Memory", restorable: true, sourceName: "source" });
    expect([filesOf(owned.metadata.uid), filesOf(retained.metadata.uid)]).toEqual([true, true]);
    await box.client.delete(sandboxes, { namespace, name: "source" });
    await expect.poll(() => exists("owned"), soon).toBe(false);
    expect(filesOf(owned.metadata.uid)).toBe(false);
    expect([await exists("retained"), filesOf(retained.metadata.uid)]).toEqual([true, true]);
    const expire = { type: "merge", body: { spec: { ttlSecondsAfterCreation: 1 } } } as const;
    await box.client.patch(sandboxSnapshots, { namespace, name: "retained" }, expire);
    await expect.poll(() => exists("retained"), soon).toBe(false);
    expect(filesOf(retained.metadata.uid)).toBe(false);
  });
});
