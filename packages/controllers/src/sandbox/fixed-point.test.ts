import { type ObjectMeta, sandboxes } from "@agent-sandbox/api";
import { isReason, type KubeObject, type Resource } from "@agent-sandbox/kube";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { pods, services, volumeClaims } from "../child-caches.ts";
import { type AnyCluster, annotationsOf, anyCluster, metadataOf } from "./any-cluster.test.support.ts";
import { name, namespace, SandboxWorld } from "./sandbox-world.test.support.ts";
import { saveLimitMs } from "./suspension.ts";

/** Longer than the longest wait of the controller: for the answer of a state driver. */
const longMs = saveLimitMs + 100_000;

/** A Pod whose save was requested, and no state driver answers. */
const unanswered: AnyCluster = {
  spec: {},
  podNameNote: undefined,
  activity: undefined,
  pods: [
    {
      standing: "owned",
      podName: name,
      status: { phase: "Running", conditions: [{ type: "agents.x-k8s.io/Saveable", status: "True" }] },
      annotations: { "agents.x-k8s.io/save": "0" },
      restartPolicy: undefined,
      isTerminating: false,
    },
  ],
  service: undefined,
  claim: undefined,
};

/** Makes an object, unless the controller was there first. */
async function put<T extends KubeObject>(world: SandboxWorld, resource: Resource<T>, object: T): Promise<void> {
  try {
    await world.user.create(resource, object);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
  }
}

async function build(world: SandboxWorld, cluster: AnyCluster): Promise<void> {
  const { metadata } = await world.create({
    annotations: annotationsOf(cluster),
    spec: { operatingMode: "Suspended" },
  });
  await world.settle();
  const body = { spec: { operatingMode: "Running", ...cluster.spec } };
  await world.user.patch(sandboxes, { namespace, name }, { type: "merge", body });
  const child = (standing: AnyCluster["pods"][number]["standing"], own: string): ObjectMeta =>
    metadataOf(standing, { name: own }, metadata.uid ?? "");
  for (const { standing, podName, status, restartPolicy, annotations } of cluster.pods) {
    const spec = { containers: [], ...(restartPolicy && { restartPolicy }) };
    await put(world, pods, { metadata: { ...child(standing, podName), annotations }, spec });
    if (world.pod(podName) !== undefined) await world.podReports(status, podName);
  }
  const { service, claim } = cluster;
  if (service)
    await put(world, services, { metadata: child(service.standing, name), spec: { clusterIP: service.clusterIP } });
  if (claim) await put(world, volumeClaims, { metadata: child(claim, `data-${name}`) });
}

test("settles in any cluster state with at most one Pod that it created (POD-13, COST-5)", async () => {
  const property = fc.asyncProperty(anyCluster, async (cluster) => {
    await using world = new SandboxWorld({ runtime: { image: "sandboxd", delivery: "ImageVolume" } });
    let most = 0;
    world.server.onChange(() => {
      const made = world.server.readAll(pods).filter(({ spec }) => spec?.containers[0]?.name === "c");
      most = Math.max(most, made.length);
    });
    await build(world, cluster);
    await world.settle(longMs);
    expect(await world.attemptsDuring(() => world.settle(1_000_000))).toEqual({});
    expect(most).toBeLessThanOrEqual(1);
  });
  await fc.assert(property, { numRuns: 60, examples: [[unanswered]] });
});
