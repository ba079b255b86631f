import { existsSync } from "node:fs";
import { join } from "node:path";
import { type SandboxSnapshot, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import {
  type Client,
  createClient,
  HttpTransport,
  isReason,
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
const counter = "i=0; while :; do i=$((i+1)); echo $i > /root/count; sleep 0.02; done";
const podTemplate = {
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "host", command: ["sh", "-c", counter] }],
  },
};

describe.skipIf(reason !== undefined)("snapshots in a box", () => {
  let box: Box;
  let client: Client;

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
    await client.close();
    await box[Symbol.asyncDispose]();
  }, 120_000);

  async function run(name: string, more: object = {}): Promise<void> {
    await client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace, name },
      spec: { podTemplate, ...more },
    });
    await expect.poll(() => conditionOf(sandboxes, name, "Ready"), soon).toBe("True");
  }

  type WithConditions = KubeObject & { status?: { conditions?: { type: string; status: string }[] } };
  async function conditionOf(resource: Resource<WithConditions>, name: string, type: string) {
    const { status } = await client.get(resource, { namespace, name });
    return status?.conditions?.find((condition) => condition.type === type)?.status;
  }

  async function snapshot(name: string, sandbox: string, more: object = {}): Promise<SandboxSnapshot> {
    await client.create(sandboxSnapshots, {
      apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
      kind: "SandboxSnapshot",
      metadata: { namespace, name },
      spec: { sandboxRef: { name: sandbox }, ...more },
    });
    await expect.poll(() => conditionOf(sandboxSnapshots, name, "Ready"), soon).toBe("True");
    return client.get(sandboxSnapshots, { namespace, name });
  }

  const exists = (name: string): Promise<boolean> =>
    client.get(sandboxSnapshots, { namespace, name }).then(
      () => true,
      (error: unknown) => {
        if (isReason(error, "NotFound")) return false;
        throw error;
      },
    );
  const filesOf = (uid = ""): boolean => existsSync(join(box.dataDir, "node", "state", "snapshots", uid));

  test("a snapshot goes with its Sandbox, and a retained one stays until it expires", async () => {
    await run("source");
    const owned = await snapshot("owned", "source");
    const retained = await snapshot("retained", "source", { deletionPolicy: "Retain" });
    expect(owned.status).toMatchObject({ depth: "Memory", restorable: true, sourceName: "source" });
    expect([filesOf(owned.metadata.uid), filesOf(retained.metadata.uid)]).toEqual([true, true]);
    await client.delete(sandboxes, { namespace, name: "source" });
    await expect.poll(() => exists("owned"), soon).toBe(false);
    expect(filesOf(owned.metadata.uid)).toBe(false);
    expect([await exists("retained"), filesOf(retained.metadata.uid)]).toEqual([true, true]);
    const expire = { type: "merge", body: { spec: { ttlSecondsAfterCreation: 1 } } } as const;
    await client.patch(sandboxSnapshots, { namespace, name: "retained" }, expire);
    await expect.poll(() => exists("retained"), soon).toBe(false);
    expect(filesOf(retained.metadata.uid)).toBe(false);
  });
});
