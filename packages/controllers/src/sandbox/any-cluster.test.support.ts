import {
  type Condition,
  controllerOf,
  type ObjectMeta,
  type Pod,
  type PodStatus,
  type Sandbox,
  type SandboxSnapshot,
  type SandboxSpec,
  type SuspensionStatus,
} from "@agent-sandbox/api";
import * as fc from "fast-check";
import type { Failure, Observed } from "./observed.ts";
import { deployment, hash, hashLabel, name, namespace, newSandbox, ownedBy } from "./sandbox-world.test.support.ts";
import type { Settings } from "./settings.ts";
import type { Watched } from "./watched.ts";

export type Standing = "owned" | "foreign" | "adoptable" | "hashed" | "nobody";

export interface AnyPod {
  readonly standing: Standing;
  readonly podName: string;
  readonly status: PodStatus;
  readonly restartPolicy: string | undefined;
  readonly isTerminating: boolean;
  readonly annotations: Record<string, string>;
}

/** What a namespace may contain when the controller first observes a Sandbox. */
export interface AnyCluster {
  readonly spec: Partial<SandboxSpec>;
  readonly podNameNote: string | undefined;
  readonly activity: string | undefined;
  readonly pods: readonly AnyPod[];
  readonly service: { readonly standing: Standing; readonly clusterIP: string } | undefined;
  readonly claim: Standing | undefined;
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const some = { requiredKeys: [] };
const standing = fc.constantFrom<Standing>("owned", "foreign", "adoptable", "hashed", "nobody");

/** Annotations for the state driver. Everybody who may edit Pods can write them. */
const stateAnnotations = fc.record(
  {
    "agents.x-k8s.io/suspend-depth": fc.constant("Memory"),
    "agents.x-k8s.io/save": fc.constantFrom("0", "3", "nonsense"),
    "agents.x-k8s.io/restore": fc.constantFrom("suspension/0", "suspension/3", "snapshot/5f", "../etc"),
    "agents.x-k8s.io/restore-from": fc.constantFrom("golden", "other"),
    "agents.x-k8s.io/epoch": fc.constantFrom("0", "4", "-1"),
  },
  some,
) as fc.Arbitrary<Record<string, string>>;

interface PodCondition {
  readonly type: string;
  readonly status: string;
}

/** Answers of the state driver that are False instead. */
function somethingFails(conditions: readonly PodCondition[]): fc.Arbitrary<PodCondition[]> {
  const answers = conditions.map(({ type }) => type).filter((type) => /Sav|Restored/.test(type));
  return fc
    .subarray(answers)
    .map((failed) =>
      conditions.map((condition) =>
        failed.includes(condition.type) ? { ...condition, status: "False", reason: "SaveFailed" } : { ...condition },
      ),
    );
}

const pod: fc.Arbitrary<AnyPod> = fc.record({
  standing,
  podName: fc.constantFrom(name, "other", "third"),
  status: fc.record(
    {
      phase: fc.constantFrom("Pending", "Running", "Succeeded", "Failed", "Unknown"),
      reason: fc.constantFrom("Evicted", "DeadlineExceeded"),
      podIPs: fc.constantFrom<{ ip: string }[]>([], [{ ip: "10.0.0.2" }]),
      conditions: fc
        .subarray([
          { type: "PodScheduled", status: "True" },
          { type: "Ready", status: "True" },
          { type: "agents.x-k8s.io/Saveable", status: "True" },
          { type: "agents.x-k8s.io/Saved", status: "True", message: "4096 bytes" },
          { type: "PodRestored", status: "True" },
        ])
        .chain(somethingFails),
    },
    some,
  ),
  annotations: stateAnnotations,
  restartPolicy: maybe(fc.constantFrom("Always", "OnFailure", "Never")),
  isTerminating: fc.boolean(),
});

const spec = fc.record(
  {
    operatingMode: fc.constantFrom("Running", "Suspended"),
    service: fc.boolean(),
    shutdownTime: fc.constantFrom("2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "never"),
    shutdownPolicy: fc.constantFrom("Delete", "Retain"),
    volumeClaimTemplates: fc.constantFrom<object[]>([], [{ metadata: { name: "data" }, spec: {} }]),
    persistentVolumeClaimRetentionPolicy: fc.constant({ whenDeleted: "Retain" }),
    suspendPolicy: fc.record(
      { depth: fc.constantFrom("Volumes", "Filesystem", "Memory"), fallback: fc.constantFrom("Allow", "Refuse") },
      some,
    ),
    restoreFrom: fc.constant({ snapshotRef: { name: "golden" } }),
    idlePolicy: fc.constantFrom<object>({ suspendAfterSeconds: 60 }, { deleteAfterSeconds: 60 }),
    runtime: fc.constantFrom("Image", "Injected"),
  },
  some,
) as fc.Arbitrary<unknown> as fc.Arbitrary<Partial<SandboxSpec>>;

export const anyCluster: fc.Arbitrary<AnyCluster> = fc.record({
  spec,
  podNameNote: maybe(fc.constantFrom(name, "other", "missing")),
  activity: maybe(fc.constantFrom("2026-03-01T09:00:00Z", "nonsense")),
  pods: fc.uniqueArray(pod, { maxLength: 3, selector: ({ podName }) => podName }),
  service: maybe(fc.record({ standing, clusterIP: fc.constantFrom("None", "10.96.0.1") })),
  claim: maybe(standing),
});

export const anySettings: fc.Arbitrary<Settings> = fc.record({
  clusterDomain: fc.constant("cluster.local"),
  keepRootFilesystem: fc.boolean(),
  runtime: maybe(fc.constant({ image: "sandboxd", delivery: "ImageVolume" as const })),
  writeBehindMs: fc.constantFrom(0, 500),
});

const watched = fc.record(
  {
    quiet: fc.nat(120_000),
    ready: fc.nat(120_000),
    failed: fc.nat(400_000),
    drift: fc.nat(2_000),
    scheduled: fc.nat(20_000),
  },
  some,
) as fc.Arbitrary<Watched>;

const failures = fc.array(
  fc.record<Failure>({
    step: fc.constantFrom<Failure["step"]>("pod", "service", "volumeClaim", "sandbox"),
    message: fc.string(),
    isPassing: fc.boolean(),
    isInvalid: fc.boolean(),
  }),
  { maxLength: 2 },
);

/** Metadata of a child with this standing towards the Sandbox with this UID. */
export function metadataOf(which: Standing, child: ObjectMeta, uid: string): ObjectMeta {
  const mine = ownedBy({ metadata: { name, uid } });
  const byStanding: Record<Standing, ObjectMeta> = {
    owned: { ownerReferences: [mine] },
    // A second, existing owner prevents garbage collection.
    foreign: { ownerReferences: [deployment, { ...mine, controller: false }] },
    adoptable: { labels: { "agents.x-k8s.io/adoptable": "true" } },
    hashed: { labels: { [hashLabel]: hash } },
    nobody: {},
  };
  return { namespace, ...child, ...byStanding[which] };
}

export function annotationsOf({ podNameNote, activity }: AnyCluster): Record<string, string> {
  return {
    ...(podNameNote && { "agents.x-k8s.io/pod-name": podNameNote }),
    ...(activity && { "agents.x-k8s.io/last-activity": activity }),
  };
}

export const observedUid = "00000000-0000-4000-8000-000000000001";
/** The version of every child in an observation. */
export const childVersion = "5";

/** What earlier passes may have left on the Sandbox: it has expired, is idle, or is being deleted. */
interface Past {
  readonly expired?: true;
  readonly idle?: true;
  readonly deleting?: true;
  readonly suspension?: SuspensionStatus;
}
const depth = fc.constantFrom("Volumes", "Filesystem", "Memory");
const history = fc.record(
  {
    expired: fc.constant(true),
    idle: fc.constant(true),
    deleting: fc.constant(true),
    suspension: fc.record(
      {
        depth,
        time: fc.constant("2026-03-01T09:59:00Z"),
        epoch: fc.constantFrom(0, 3),
        restored: depth,
        restoredFrom: fc.constantFrom({ name: "golden", uid: "5f" }, { name: "other", uid: "6a" }),
        reason: fc.constant("SaveFailed"),
        message: fc.constant("no space"),
      },
      some,
    ),
  },
  some,
) as fc.Arbitrary<Past>;

export const anyObserved: fc.Arbitrary<Observed> = fc
  .record({
    cluster: anyCluster,
    snapshot: maybe(fc.constantFrom(snapshotOf("True"), snapshotOf("False"))),
    watched,
    failures,
    past: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, history),
  })
  .map(({ cluster, past, ...rest }) => {
    const seen = observe(cluster);
    return { ...seen, sandbox: withPast(seen.sandbox, past), ...rest };
  });

function withPast(sandbox: Sandbox, past: Past): Sandbox {
  const lastTransitionTime = "2026-03-01T09:59:00Z";
  const said = (type: string, status: Condition["status"], reason: string): Condition => ({
    type,
    status,
    reason,
    message: "",
    lastTransitionTime,
  });
  const conditions = [
    ...(past.expired ? [said("Ready", "False", "SandboxExpired")] : []),
    ...(past.idle ? [said("Suspended", "True", "Idle")] : []),
  ];
  return {
    ...sandbox,
    metadata: { ...sandbox.metadata, ...(past.deleting && { deletionTimestamp: lastTransitionTime }) },
    ...((conditions.length > 0 || past.suspension) && {
      status: { conditions, ...(past.suspension && { suspension: past.suspension }) },
    }),
  };
}

function observe(cluster: AnyCluster): Omit<Observed, "watched" | "failures"> {
  const { service, claim, podNameNote } = cluster;
  const child = (kind: string, own: string): ObjectMeta => ({
    name: own,
    uid: `${kind} ${own}`,
    resourceVersion: childVersion,
  });
  const pods = cluster.pods.map((given): Pod => {
    const metadata = metadataOf(given.standing, child("Pod", given.podName), observedUid);
    return {
      metadata: {
        ...metadata,
        annotations: given.annotations,
        ...(given.isTerminating && { deletionTimestamp: "2026-03-01T09:59:00Z" }),
      },
      spec: { containers: [], ...(given.restartPolicy && { restartPolicy: given.restartPolicy }) },
      status: given.status,
    };
  });
  const claims = claim
    ? [{ metadata: metadataOf(claim, child("PersistentVolumeClaim", `data-${name}`), observedUid) }]
    : [];
  return {
    sandbox: sandboxOf(cluster),
    pods: pods.filter((one) => controllerOf(one)?.uid === observedUid),
    trackedPod: pods.find(({ metadata }) => metadata?.name === (podNameNote ?? name)),
    volumeClaims: new Map(claims.map((one) => [one.metadata.name ?? "", one])),
    service: service && {
      metadata: metadataOf(service.standing, child("Service", name), observedUid),
      spec: { clusterIP: service.clusterIP },
    },
  };
}

function snapshotOf(status: "True" | "False"): SandboxSnapshot {
  const ready = { type: "Ready", status, reason: "Taken", message: "", lastTransitionTime: "2026-03-01T09:00:00Z" };
  return {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: { name: "golden", namespace, uid: "5f" },
    spec: { sandboxRef: { name: "source" } },
    status: { conditions: [ready], depth: "Memory", epoch: 2 },
  };
}

function sandboxOf(cluster: AnyCluster): Sandbox {
  const annotations = annotationsOf(cluster);
  const stored = { uid: observedUid, generation: 2, resourceVersion: "7" };
  return newSandbox({ metadata: { name, namespace, annotations, ...stored }, spec: cluster.spec });
}
