import {
  epochAnnotation,
  findCondition,
  type Pod,
  restoreAnnotation,
  restoredCondition,
  type Sandbox,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  saveAnnotation,
  suspendDepthAnnotation,
  v1beta1SandboxStateAnnotation,
} from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { pods } from "./tenant.ts";
import { isPodReady, until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";

const forged = {
  [suspendDepthAnnotation]: "Memory",
  [saveAnnotation]: "0",
  [restoreAnnotation]: "suspension/0",
  [epochAnnotation]: "999999999999999",
};

describe.skipIf(noWorld)("fields and annotations about saved state", () => {
  const attacker = useAttacker();

  const sandbox = (name: string): Promise<Sandbox> =>
    attacker.mallory.client.get(sandboxes, { namespace: attacker.mallory.namespace, name });
  const readyReason = async (name: string): Promise<string | undefined> =>
    findCondition((await sandbox(name)).status?.conditions, "Ready")?.reason;
  const stateOf = ({ metadata }: Pod): string[] =>
    Object.keys(metadata?.annotations ?? {}).filter((key) => key in forged);

  test("a snapshot of another namespace cannot be restored, however it is written", async () => {
    const { mallory, world } = attacker;
    const victim = world.alice.namespace;
    const name = "treasure";
    await world.admin.client.create(sandboxSnapshots, {
      apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
      kind: "SandboxSnapshot",
      metadata: { namespace: victim, name },
      spec: { sandboxRef: { name: "web" } },
    });
    const spellings = [name, `${victim}/${name}`, `../${victim}/${name}`, "", "..", "%2e%2e", "x".repeat(300)];
    for (const [index, spelling] of spellings.entries()) {
      const fork = `fork-${index}`;
      await mallory.createSandbox(fork, {}, { restoreFrom: { snapshotRef: { name: spelling } } });
      const found = await until(async () => (await readyReason(fork)) ?? undefined);
      expect({ spelling, found }).toEqual({ spelling, found: "SnapshotNotFound" });
      await expect(mallory.pod(fork)).rejects.toMatchObject({ code: 404 });
    }
    await world.admin.client.delete(sandboxSnapshots, { namespace: victim, name });
    expect(await world.alice.harm()).toEqual([]);
  });

  test("annotations of a pod template do not reach the driver", async () => {
    const { mallory } = attacker;
    const pod = await mallory.runSandbox("copycat", { metadata: { annotations: forged } });
    expect(stateOf(pod)).toEqual([]);
    await mallory.create(sandboxClaims, "claim", {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      spec: { warmPoolRef: { name: "none" }, additionalPodMetadata: { annotations: forged } },
    });
    const refusal = await until(async () => {
      const place = { namespace: mallory.namespace, name: "claim" };
      const { status } = await mallory.client.get(sandboxClaims, place);
      return findCondition(status?.conditions, "Ready")?.reason;
    });
    expect(refusal).toBe("InvalidMetadata");
  });

  test.for([
    ["a suspension of nobody", "suspension/0"],
    ["a snapshot that does not exist", "snapshot/00000000-0000-4000-8000-000000000001"],
    ["a path", "../../etc"],
    ["a path in an image", "suspension/../../etc"],
  ] as const)("a Pod that asks to be restored from %s runs nothing", async ([, image]) => {
    const { mallory, world } = attacker;
    const annotations = { [restoreAnnotation]: image, [suspendDepthAnnotation]: "Memory" };
    await mallory.createPod("thief", { metadata: { annotations } });
    const pod = await mallory.podUntil("thief", ({ status }) => {
      return findCondition(status?.conditions, restoredCondition)?.status === "False";
    });
    expect(isPodReady(pod)).toBe(false);
    await mallory.removePod("thief");
    expect(await world.alice.harm()).toEqual([]);
  });

  test.for([["-1"], ["../../x"], ["99999999999999999999"], [""], ["0\n1"]] as const)(
    "a request to save that the controller did not write is removed: %j",
    async ([epoch]) => {
      const { mallory } = attacker;
      const name = "forger";
      if ((await sandbox(name).catch(() => undefined)) === undefined) await mallory.runSandbox(name);
      const place = { namespace: mallory.namespace, name };
      const body = { metadata: { annotations: { [saveAnnotation]: epoch } } };
      await mallory.client.patch(pods, place, { type: "merge", body });
      const pod = await mallory.podUntil(name, (one) => !stateOf(one).includes(saveAnnotation));
      expect(isPodReady(pod)).toBe(true);
    },
  );

  test("nobody but the node and the controller can say what was saved or restored", async () => {
    const { mallory } = attacker;
    const name = "claimant";
    await mallory.runSandbox(name);
    const place = { namespace: mallory.namespace, name };
    const saved = { conditions: [{ type: "agents.x-k8s.io/Saved", status: "True" }] };
    const onStatus = { subresource: "status" } as const;
    await expect(
      mallory.client.patch(pods, place, { type: "merge", body: { status: saved } }, onStatus),
    ).rejects.toMatchObject({ code: 403 });
    const body = { status: { suspension: { depth: "Memory", epoch: 0 } } };
    await expect(mallory.client.patch(sandboxes, place, { type: "merge", body }, onStatus)).rejects.toMatchObject({
      code: 403,
    });
    await mallory.client.patch(sandboxes, place, { type: "merge", body });
    const asAlpha = { metadata: { annotations: { [v1beta1SandboxStateAnnotation]: JSON.stringify(body) } } };
    const path = `/apis/agents.x-k8s.io/v1alpha1/namespaces/${mallory.namespace}/sandboxes/${name}`;
    const mergePatch = { "content-type": "application/merge-patch+json" };
    expect(await mallory.request("PATCH", path, asAlpha, mergePatch)).toMatchObject({ status: 200 });
    expect((await sandbox(name)).status).not.toHaveProperty("suspension");
  });
});
