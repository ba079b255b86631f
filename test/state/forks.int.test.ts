import { sandboxClaims, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { counter } from "../../packages/node/test/state/counter.ts";
import { cannotRun, keepMemory, namespace, podOf, StateBox, soon } from "./state-box.ts";

/** Counts in memory, and shows the number in a file. */
const podTemplate = podOf(counter("echo $i > /root/count; test -e /root/reset && i=0", 1000));
const restoreFrom = { snapshotRef: { name: "golden" } };
const extensions = "extensions.agents.x-k8s.io/v1beta1" as const;

describe.skipIf(cannotRun)("Sandboxes that are restored from a snapshot", { timeout: 180_000 }, () => {
  let box: StateBox;
  let snapshotUid: string | undefined;

  beforeAll(async () => {
    box = await StateBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  const count = async (name: string): Promise<number> => Number(await box.shell(name, "cat /root/count"));

  test("the source notices only its pause", async () => {
    await box.run("source", { podTemplate });
    await expect.poll(() => count("source"), soon).toBeGreaterThan(1_005);
    snapshotUid = (await box.snapshot("golden", "source", { deletionPolicy: "Retain" })).metadata.uid;
    // From now on a program that continues the snapshot differs from the source, which counts from 0 again.
    await box.shell("source", "touch /root/reset");
    await expect.poll(() => count("source"), soon).toBeLessThan(1_000);
  });

  test("a fork continues the memory of the snapshot, as another Sandbox in a later epoch (STATE-21)", async () => {
    await box.run("fork", { podTemplate, restoreFrom });
    expect(await count("fork")).toBeGreaterThan(1_005);
    const [fork, source] = [await box.read("fork"), await box.read("source")];
    expect(fork.status?.suspension).toMatchObject({
      restored: "Memory",
      epoch: 1,
      restoredFrom: { name: "golden", uid: snapshotUid },
    });
    expect(fork.status?.podIPs).not.toEqual(source.status?.podIPs);
    expect(await box.shell("fork", "hostname")).toBe("fork");
  });

  test("a fork that sleeps continues its own memory, not the snapshot again (STATE-22)", async () => {
    await box.run("sleeper", { podTemplate, restoreFrom });
    await box.shell("sleeper", "touch /root/reset");
    await expect.poll(() => count("sleeper"), soon).toBeLessThan(1_000);
    await box.shell("sleeper", "rm /root/reset");
    await box.suspend("sleeper");
    await box.resume("sleeper");
    expect(await count("sleeper")).toBeLessThan(1_000);
    expect((await box.read("sleeper")).status?.suspension).toMatchObject({ epoch: 2, restored: "Memory" });
  });

  test("a claim with the snapshot gets a fork, and a pool's members are forks (STATE-26, STATE-27)", async () => {
    await box.client.create(sandboxTemplates, {
      apiVersion: extensions,
      kind: "SandboxTemplate",
      metadata: { namespace, name: "plain" },
      spec: { podTemplate, suspendPolicy: keepMemory, networkPolicyManagement: "Unmanaged" },
    });
    await box.client.create(sandboxTemplates, {
      apiVersion: extensions,
      kind: "SandboxTemplate",
      metadata: { namespace, name: "forks" },
      spec: { podTemplate, suspendPolicy: keepMemory, restoreFrom, networkPolicyManagement: "Unmanaged" },
    });
    const pool = (name: string, template: string, replicas: number) =>
      box.client.create(sandboxWarmPools, {
        apiVersion: extensions,
        kind: "SandboxWarmPool",
        metadata: { namespace, name },
        spec: { replicas, sandboxTemplateRef: { name: template } },
      });
    await pool("empty", "plain", 0);
    await pool("warm", "forks", 1);
    const claim = (name: string, warmPool: string, more: object = {}) =>
      box.client.create(sandboxClaims, {
        apiVersion: extensions,
        kind: "SandboxClaim",
        metadata: { namespace, name },
        spec: { warmPoolRef: { name: warmPool }, ...more },
      });
    await claim("by-claim", "empty", { restoreFrom });
    await claim("by-pool", "warm");
    for (const name of ["by-claim", "by-pool"]) {
      await box.until(name, "Ready", sandboxClaims);
      const { status } = await box.client.get(sandboxClaims, { namespace, name });
      expect(await count(status?.sandbox?.name ?? "")).toBeGreaterThan(1_005);
    }
  });

  test("a suspended Sandbox returns to the snapshot that is named then (STATE-23)", async () => {
    expect(await count("source")).toBeLessThan(1_000);
    await box.suspend("source");
    await box.resume("source", { restoreFrom });
    expect(await count("source")).toBeGreaterThan(1_005);
    expect(await box.shell("source", "ls /root")).toBe("count");
  });

  test("a snapshot that does not exist leaves the Sandbox without a Pod, with the reason (STATE-24)", async () => {
    await box.create("lost", { podTemplate, restoreFrom: { snapshotRef: { name: "missing" } } });
    await expect.poll(async () => (await box.condition("lost", "Ready"))?.reason, soon).toBe("SnapshotNotFound");
  });
});
