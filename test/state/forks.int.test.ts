import {
  type Sandbox,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import {
  type Client,
  createClient,
  HttpTransport,
  type KubeObject,
  loadKubeconfig,
  type Resource,
} from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const soon = { timeout: 60_000, interval: 100 };
const namespace = "default";

/** Counts in memory, and shows the number in a file. */
const counter = "i=1000; while :; do i=$((i+1)); echo $i > /root/count; sleep 0.05; test -e /root/reset && i=0; done";
const podTemplate = {
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "host", command: ["sh", "-c", counter] }],
  },
};
const suspendPolicy = { depth: "Memory", fallback: "Refuse" } as const;
const restoreFrom = { snapshotRef: { name: "golden" } };
const extensions = "extensions.agents.x-k8s.io/v1beta1" as const;

describe.skipIf(reason !== undefined)("Sandboxes that are restored from a snapshot", { timeout: 180_000 }, () => {
  let box: Box;
  let client: Client;
  let snapshotUid: string | undefined;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(`Cannot start the box: ${stderr}`);
    const { access } = await loadKubeconfig({ path: box.kubeconfig });
    if (access === undefined) throw new Error("Cannot read the kubeconfig of the box");
    client = createClient(new HttpTransport(access));
  }, 180_000);
  afterAll(async () => {
    await client?.close();
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  const create = (name: string, more: object = {}): Promise<Sandbox> =>
    client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace, name },
      spec: { podTemplate, suspendPolicy, ...more },
    });
  const read = (name: string): Promise<Sandbox> => client.get(sandboxes, { namespace, name });
  const change = (name: string, spec: object): Promise<Sandbox> =>
    client.patch(sandboxes, { namespace, name }, { type: "merge", body: { spec } });
  const count = async (name: string): Promise<number> =>
    Number((await box.run("exec", name, "--", "cat", "/root/count")).stdout);

  type WithConditions = KubeObject & { status?: { conditions?: { type: string; status: string; reason: string }[] } };
  async function condition(resource: Resource<WithConditions>, name: string, type: string) {
    const { status } = await client.get(resource, { namespace, name });
    return status?.conditions?.find((each) => each.type === type);
  }
  async function ready(resource: Resource<WithConditions>, name: string): Promise<void> {
    await expect
      .poll(async () => {
        const { status, ...why } = (await condition(resource, name, "Ready")) ?? {};
        return status === "True" ? status : why;
      }, soon)
      .toBe("True");
  }

  test("the source notices only its pause", async () => {
    await create("source");
    await ready(sandboxes, "source");
    await expect.poll(() => count("source"), soon).toBeGreaterThan(1_005);
    const taken = await client.create(sandboxSnapshots, {
      apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
      kind: "SandboxSnapshot",
      metadata: { namespace, name: "golden" },
      spec: { sandboxRef: { name: "source" }, deletionPolicy: "Retain" },
    });
    snapshotUid = taken.metadata.uid;
    await ready(sandboxSnapshots, "golden");
    // From now on a program that continues the snapshot differs from the source, which counts from 0 again.
    await box.run("exec", "source", "--", "touch", "/root/reset");
    await expect.poll(() => count("source"), soon).toBeLessThan(1_000);
  });

  test("a fork continues the memory of the snapshot, as another Sandbox in a later epoch (STATE-21)", async () => {
    await create("fork", { restoreFrom });
    await ready(sandboxes, "fork");
    expect(await count("fork")).toBeGreaterThan(1_005);
    const [fork, source] = [await read("fork"), await read("source")];
    expect(fork.status?.suspension).toMatchObject({
      restored: "Memory",
      epoch: 1,
      restoredFrom: { name: "golden", uid: snapshotUid },
    });
    expect(fork.status?.podIPs).not.toEqual(source.status?.podIPs);
    expect((await box.run("exec", "fork", "--", "hostname")).stdout.trim()).toBe("fork");
  });

  test("a fork that sleeps continues its own memory, not the snapshot again (STATE-22)", async () => {
    await create("sleeper", { restoreFrom });
    await ready(sandboxes, "sleeper");
    await box.run("exec", "sleeper", "--", "touch", "/root/reset");
    await expect.poll(() => count("sleeper"), soon).toBeLessThan(1_000);
    await box.run("exec", "sleeper", "--", "rm", "/root/reset");
    await change("sleeper", { operatingMode: "Suspended" });
    await expect.poll(async () => (await condition(sandboxes, "sleeper", "Suspended"))?.status, soon).toBe("True");
    await change("sleeper", { operatingMode: "Running" });
    await ready(sandboxes, "sleeper");
    expect(await count("sleeper")).toBeLessThan(1_000);
    expect((await read("sleeper")).status?.suspension).toMatchObject({ epoch: 2, restored: "Memory" });
  });

  test("a claim with the snapshot gets a fork, and a pool's members are forks (STATE-26, STATE-27)", async () => {
    await client.create(sandboxTemplates, {
      apiVersion: extensions,
      kind: "SandboxTemplate",
      metadata: { namespace, name: "plain" },
      spec: { podTemplate, suspendPolicy, networkPolicyManagement: "Unmanaged" },
    });
    await client.create(sandboxTemplates, {
      apiVersion: extensions,
      kind: "SandboxTemplate",
      metadata: { namespace, name: "forks" },
      spec: { podTemplate, suspendPolicy, restoreFrom, networkPolicyManagement: "Unmanaged" },
    });
    const pool = (name: string, template: string, replicas: number) =>
      client.create(sandboxWarmPools, {
        apiVersion: extensions,
        kind: "SandboxWarmPool",
        metadata: { namespace, name },
        spec: { replicas, sandboxTemplateRef: { name: template } },
      });
    await pool("empty", "plain", 0);
    await pool("warm", "forks", 1);
    const claim = (name: string, warmPool: string, more: object = {}) =>
      client.create(sandboxClaims, {
        apiVersion: extensions,
        kind: "SandboxClaim",
        metadata: { namespace, name },
        spec: { warmPoolRef: { name: warmPool }, ...more },
      });
    await claim("by-claim", "empty", { restoreFrom });
    await claim("by-pool", "warm");
    for (const name of ["by-claim", "by-pool"]) {
      await ready(sandboxClaims, name);
      const { status } = await client.get(sandboxClaims, { namespace, name });
      expect(await count(status?.sandbox?.name ?? "")).toBeGreaterThan(1_005);
    }
  });

  test("a suspended Sandbox returns to the snapshot that is named then (STATE-23)", async () => {
    expect(await count("source")).toBeLessThan(1_000);
    await change("source", { operatingMode: "Suspended" });
    await expect.poll(async () => (await condition(sandboxes, "source", "Suspended"))?.status, soon).toBe("True");
    await change("source", { operatingMode: "Running", restoreFrom });
    await ready(sandboxes, "source");
    expect(await count("source")).toBeGreaterThan(1_005);
    expect((await box.run("exec", "source", "--", "ls", "/root/reset")).code).not.toBe(0);
  });

  test("a snapshot that does not exist leaves the Sandbox without a Pod, with the reason (STATE-24)", async () => {
    await create("lost", { restoreFrom: { snapshotRef: { name: "missing" } } });
    await expect.poll(async () => (await condition(sandboxes, "lost", "Ready"))?.reason, soon).toBe("SnapshotNotFound");
  });
});
