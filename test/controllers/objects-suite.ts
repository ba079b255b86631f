import {
  adoptableLabel,
  controllerReference,
  findCondition,
  isConditionTrue,
  lastActivityAnnotation,
  type Pod,
  type Sandbox,
  type SandboxSpec,
  sandboxes,
  suspendAtAnnotation,
} from "@agent-sandbox/api";
import { pods, services, volumeClaims } from "@agent-sandbox/controllers";
import { controllerOf, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { beforeAll, expect, test } from "vitest";
import { namespace, type SandboxServer } from "./sandbox-server.ts";

const is = (type: string) => (sandbox: Sandbox | undefined) => isConditionTrue(sandbox?.status?.conditions, type);
const readyReason = (sandbox: Sandbox | undefined): string | undefined =>
  findCondition(sandbox?.status?.conditions, "Ready")?.reason;
const hasReason = (reason: string) => (sandbox: Sandbox | undefined) => readyReason(sandbox) === reason;
const volume: NonNullable<SandboxSpec["volumeClaimTemplates"]> = [
  {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
];
const hasOwner = (object: KubeObject | undefined): boolean =>
  object !== undefined && controllerOf(object) !== undefined;

/** What becomes of the objects of a Sandbox, and of objects in their place. Part of sandbox-suite.ts. */
export function describeObjects(getWorld: () => SandboxServer): void {
  let world: SandboxServer;
  beforeAll(async () => {
    world = getWorld();
    // Ten seconds are the shortest idle window. It passes during the other tests.
    await world.create("idle", { idlePolicy: { suspendAfterSeconds: 10 } });
  });

  const lookUp = <T extends KubeObject>(resource: Resource<T>, name: string): Promise<T | string> =>
    world.client.get(resource, { namespace, name }).catch(({ reason }: { reason: string }) => reason);
  const createPod = (name: string, metadata: KubeObject["metadata"] = {}): Promise<Pod> =>
    world.client.create(pods, { metadata: { name, namespace, ...metadata }, spec: world.podSpec });
  const remove = (resource: Resource, name: string): Promise<unknown> =>
    world.client.delete(resource, { namespace, name });

  test("follow the labels and annotations of its template (POD-1, META-1, META-6)", async () => {
    const podTemplate = (labels: Record<string, string>): Partial<SandboxSpec> => ({
      podTemplate: { metadata: { labels, annotations: { note: "x" } }, spec: world.podSpec },
    });
    const sandbox = await world.create("labelled", podTemplate({ team: "a" }));
    await world.until("labelled", is("Ready"));
    const pod = await world.untilPod("labelled", (seen) => seen !== undefined);
    expect(pod?.metadata).toMatchObject({ labels: { team: "a" }, annotations: { note: "x" } });
    expect(controllerOf(pod ?? {})?.uid).toBe(sandbox.metadata.uid);
    await world.edit("labelled", { spec: { podTemplate: { metadata: { labels: { team: null, tier: "b" } } } } });
    const changed = await world.untilPod("labelled", (seen) => seen?.metadata?.labels?.["tier"] === "b");
    expect(changed?.metadata?.labels).not.toHaveProperty("team");
    expect(changed?.metadata?.uid).toBe(pod?.metadata?.uid);
  });

  test("a deleted Pod is replaced (RECOVER-2)", async () => {
    await world.create("replaced");
    await world.until("replaced", is("Ready"));
    const first = await world.untilPod("replaced", hasOwner);
    await remove(pods, "replaced");
    const isNew = ({ metadata }: KubeObject = {}): boolean =>
      metadata?.uid !== undefined && metadata.uid !== first?.metadata?.uid;
    await world.untilPod("replaced", isNew);
    expect(is("Suspended")(await world.until("replaced", is("Ready")))).toBe(false);
  });

  test("a Pod that may be adopted is adopted, and another is left alone until it is gone (POD-2, POD-3)", async () => {
    const offered = await createPod("offered", { labels: { [adoptableLabel]: "true" } });
    const stranger = await createPod("stranger");
    const [adopter, waiting] = [await world.create("offered"), await world.create("stranger")];
    await world.until("offered", is("Ready"));
    const adopted = await world.untilPod("offered", hasOwner);
    expect([adopted?.metadata?.uid, controllerOf(adopted ?? {})?.uid]).toEqual([
      offered.metadata?.uid,
      adopter.metadata.uid,
    ]);
    await world.until("stranger", hasReason("ReconcilerError"));
    const left = await world.untilPod("stranger", (seen) => seen !== undefined);
    expect([left?.metadata?.uid, hasOwner(left)]).toEqual([stranger.metadata?.uid, false]);
    await remove(pods, "stranger");
    await world.until("stranger", is("Ready"));
    const own = await world.untilPod("stranger", hasOwner);
    expect(controllerOf(own ?? {})?.uid).toBe(waiting.metadata.uid);
  });

  test("two Pods of one Sandbox are reported, and both stay (POD-9)", async () => {
    const sandbox = await world.create("twice");
    await world.until("twice", is("Ready"));
    await createPod("twice-more", { ownerReferences: [controllerReference(sandboxes, sandbox)] });
    const told = await world.until("twice", hasReason("MultiplePods"));
    expect(told?.status).not.toHaveProperty("podIPs");
    await remove(pods, "twice-more");
    await world.until("twice", is("Ready"));
    expect(await lookUp(pods, "twice")).toMatchObject({ metadata: { name: "twice" } });
  });

  test("a changed Service is repaired, and deleted when it is not wanted any more (SERVICE-6, SERVICE-10)", async () => {
    await world.create("served", { service: true });
    await world.until("served", is("Ready"));
    const { spec } = await world.client.get(services, { namespace, name: "served" });
    const body = { spec: { selector: { app: "somebody-else" } }, metadata: { labels: { mine: "kept" } } };
    await world.client.patch(services, { namespace, name: "served" }, { type: "merge", body });
    const selectorOf = (object?: KubeObject): unknown => (object as { spec?: { selector?: object } })?.spec?.selector;
    const isRepaired = (seen?: KubeObject): boolean =>
      seen?.metadata?.labels?.["mine"] !== undefined && !("app" in (selectorOf(seen) as object));
    expect(selectorOf(await world.untilObject("services", "served", isRepaired))).toEqual(spec?.selector);
    await world.edit("served", { spec: { service: false } });
    await world.untilGone("services", "served");
    expect(await world.until("served", is("Ready"))).toBeDefined();
  });

  test("a Service of somebody else is reported and not touched (SERVICE-12)", async () => {
    const spec = { clusterIP: "None", selector: { app: "mine" } };
    const mine = await world.client.create(services, { metadata: { name: "occupied", namespace }, spec });
    await world.create("occupied", { service: true });
    const told = await world.until("occupied", hasReason("ReconcilerError"));
    expect(findCondition(told?.status?.conditions, "Ready")?.message).toContain("adoptable");
    const kept = await world.client.get(services, { namespace, name: "occupied" });
    expect([kept.metadata?.uid, kept.spec?.selector]).toEqual([mine.metadata?.uid, spec.selector]);
    await remove(services, "occupied");
    await world.until("occupied", is("Ready"));
  });

  test("a retained volume is used by the next Sandbox of the name (VOLUME-9)", async () => {
    const spec = { volumeClaimTemplates: volume, persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain" } };
    await world.create("again", spec as Partial<SandboxSpec>);
    await world.until("again", is("Ready"));
    const first = await world.client.get(volumeClaims, { namespace, name: "data-again" });
    await remove(sandboxes, "again");
    await world.untilGone("sandboxes", "again");
    await world.untilGone("pods", "again");
    await world.create("again", spec as Partial<SandboxSpec>);
    await world.until("again", is("Ready"));
    const second = await world.client.get(volumeClaims, { namespace, name: "data-again" });
    expect(second.metadata?.uid).toBe(first.metadata?.uid);
  });

  test("a Sandbox that is created suspended has a volume and a Service, but no Pod (SLEEP-6, SLEEP-3)", async () => {
    await world.create("later", { operatingMode: "Suspended", service: true, volumeClaimTemplates: volume });
    await world.until("later", is("Suspended"));
    await world.untilObject("services", "later", hasOwner);
    await world.untilObject("volumeClaims", "data-later", hasOwner);
    expect(await lookUp(pods, "later")).toBe("NotFound");
    for (const mode of ["Running", "Suspended", "Running"] as const) {
      await world.edit("later", { spec: { operatingMode: mode } });
      await world.until("later", is(mode === "Running" ? "Ready" : "Suspended"));
    }
  });

  test("an idle Sandbox sleeps, and activity wakes it (SLEEP-8, SLEEP-12)", async () => {
    const asleep = await world.until("idle", is("Suspended"));
    expect(findCondition(asleep?.status?.conditions, "Suspended")?.reason).toBe("Idle");
    expect(asleep?.spec.operatingMode).toBe("Running");
    await world.untilGone("pods", "idle");
    const annotations = { [lastActivityAnnotation]: new Date().toISOString() };
    await world.edit("idle", { metadata: { annotations }, spec: { idlePolicy: { suspendAfterSeconds: 3600 } } });
    await world.until("idle", is("Ready"));
  });

  test("suspend-at suspends a Sandbox, and is removed (SLEEP-27)", async () => {
    const annotations = { [suspendAtAnnotation]: new Date(Date.now() + 1000).toISOString() };
    await world.create("timed", {}, { annotations });
    const asleep = await world.until("timed", is("Suspended"));
    expect(asleep?.spec.operatingMode).toBe("Suspended");
    expect(asleep?.metadata.annotations ?? {}).not.toHaveProperty(suspendAtAnnotation);
  });

  test("an expired Sandbox that is retained loses its objects, and gets them again (EXPIRE-3, EXPIRE-10)", async () => {
    await world.create("retained", { service: true });
    await world.until("retained", is("Ready"));
    await world.edit("retained", { spec: { shutdownTime: new Date().toISOString() } });
    await world.untilGone("pods", "retained");
    await world.untilGone("services", "retained");
    const isBare = (sandbox?: Sandbox): boolean =>
      hasReason("SandboxExpired")(sandbox) && Object.keys(sandbox?.status ?? {}).join() === "conditions";
    await world.until("retained", isBare);
    await world.edit("retained", { spec: { shutdownTime: new Date(Date.now() + 3_600_000).toISOString() } });
    expect(await world.until("retained", is("Ready"))).toMatchObject({ status: { service: "retained" } });
  });

  test("a Sandbox that has expired before it was created creates nothing (EXPIRE-7)", async () => {
    await world.create("late", { service: true, shutdownTime: new Date(Date.now() - 60_000).toISOString() });
    await world.until("late", hasReason("SandboxExpired"));
    expect([await lookUp(pods, "late"), await lookUp(services, "late")]).toEqual(["NotFound", "NotFound"]);
  });

  test("a Pod that runs an older spec says so until the change is taken back (STATUS-19)", async () => {
    await world.create("outdated");
    await world.until("outdated", is("Ready"));
    const env = (value: string | null) => ({ spec: { podTemplate: { spec: withEnv(world.podSpec, value) } } });
    await world.edit("outdated", env("2"));
    expect(is("Ready")(await world.until("outdated", is("PodOutdated")))).toBe(true);
    await world.edit("outdated", env(null));
    const isCurrent = (sandbox?: Sandbox): boolean =>
      findCondition(sandbox?.status?.conditions, "PodOutdated") === undefined;
    expect(is("Ready")(await world.until("outdated", isCurrent))).toBe(true);
  });
}

/** The spec with a variable in each container, or without. */
function withEnv(spec: NonNullable<Pod["spec"]>, value: string | null): object {
  const containers = spec.containers.map((one) => ({ ...one, ...(value && { env: [{ name: "VERSION", value }] }) }));
  return { ...spec, containers };
}
