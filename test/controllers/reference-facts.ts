import {
  controllerOf,
  isConditionTrue,
  nameHash,
  type PersistentVolumeClaim,
  type Pod,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
} from "@agent-sandbox/api";
import type { KubeObject } from "@agent-sandbox/kube";
import { expect } from "vitest";
import { defaultPolicy } from "./reference-objects.ts";

const group = "agents.x-k8s.io";
const extensionsGroup = `extensions.${group}`;
const safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";

/** RFC 3339 with a fraction, as the reference writes it. */
const time: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z$/);

/** What a user of the reference reads, and what the reference needs to continue with the object: the least that it must contain. */
export type Facts = Readonly<Record<string, unknown>>;

const owner = (kind: string, name: string, uid: string | undefined, apiGroup = group): Facts => ({
  apiVersion: `${apiGroup}/v1beta1`,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

const condition = (type: string, generation: number | undefined): unknown =>
  expect.objectContaining({
    type,
    status: expect.any(String),
    reason: expect.any(String),
    observedGeneration: generation,
  });

export function templateFacts({ metadata: { name = "" } }: SandboxTemplate): Facts {
  return { metadata: { labels: { [`${group}/sandbox-template-ref-hash`]: nameHash(name) } } };
}

export function policyFacts({ metadata: { name = "", uid } }: SandboxTemplate): Facts {
  return {
    metadata: {
      name: `${name}-network-policy`,
      ownerReferences: [owner("SandboxTemplate", name, uid, extensionsGroup)],
    },
    spec: defaultPolicy(nameHash(name)),
  };
}

export function poolFacts({ metadata, spec }: SandboxWarmPool): Facts {
  const { name = "", generation } = metadata;
  return {
    status: {
      observedGeneration: generation,
      replicas: spec.replicas,
      readyReplicas: spec.replicas,
      selector: `${group}/warm-pool-sandbox=${nameHash(name)}`,
    },
  };
}

/** `sandbox` is the one that the claim is bound to. */
export function claimFacts({ metadata, status }: SandboxClaim, sandbox: Sandbox | undefined): Facts {
  const isReady = isConditionTrue(status?.conditions, "Ready");
  const isWarm = sandbox?.metadata.labels?.[`${group}/launch-type`] === "warm";
  return {
    metadata: {
      annotations: {
        [`${group}/controller-first-observed-at`]: time,
        ...(isReady && { [`${group}/claim-first-ready-at`]: expect.stringMatching(/^(unknown|\d{4}-.*\.\d+Z)$/) }),
        ...(isWarm && { [`${group}/sandbox-name`]: sandbox?.metadata.name }),
      },
    },
    status: {
      conditions: expect.arrayContaining([condition("Ready", metadata.generation)]),
      ...(sandbox !== undefined && { sandbox: { name: sandbox.metadata.name, podIPs: sandbox.status?.podIPs } }),
    },
  };
}

export function sandboxFacts(sandbox: Sandbox): Facts {
  const { name = "", generation } = sandbox.metadata;
  const controller = controllerOf(sandbox);
  const isMember = controller?.kind === "SandboxWarmPool";
  const conditions = ["Suspended", "Ready"].map((type) => condition(type, generation));
  return {
    metadata: {
      ...(controller && {
        labels: {
          [`${group}/sandbox-template-ref-hash`]: expect.stringMatching(/^[0-9a-f]{8}$/),
          [`${group}/launch-type`]: expect.stringMatching(isMember ? /^warm$/ : /^(warm|cold)$/),
          ...(isMember ? memberLabels(controller.name) : { [`${group}/claim-uid`]: controller.uid }),
        },
        ownerReferences: [owner(controller.kind, controller.name, controller.uid, extensionsGroup)],
      }),
      annotations: {
        ...(controller && { [`${group}/sandbox-template-ref`]: expect.any(String) }),
        // The reference adds it to a pool member itself, if it is missing there.
        ...(!isMember && sandbox.status?.podIPs && { [`${group}/pod-name`]: name }),
      },
    },
    status: { conditions: expect.arrayContaining(conditions) },
  };
}

function memberLabels(pool: string): Facts {
  return {
    [`${group}/warm-pool-sandbox`]: nameHash(pool),
    [`${group}/created-by`]: "controller",
    [`${group}/sandbox-template-hash`]: expect.stringMatching(/^[0-9a-f]{8}$/),
    [`${group}/sandbox-pod-template-hash`]: expect.stringMatching(/^[0-9a-f]{8}$/),
  };
}

/** The lists of propagated keys tell the reference what to remove from the Pod, such as the mark of a pool member. */
export function podFacts(_pod: Pod, sandbox: Sandbox): Facts {
  const { name = "", uid, labels = {} } = sandbox.metadata;
  const controller = controllerOf(sandbox);
  const isMember = controller?.kind === "SandboxWarmPool";
  const copied = Object.keys(sandbox.spec.podTemplate.metadata?.labels ?? {}).filter((key) => !key.startsWith(group));
  return {
    metadata: {
      name,
      labels: {
        [`${group}/sandbox-name-hash`]: nameHash(name),
        ...(controller && {
          [`${group}/sandbox-template-ref-hash`]: labels[`${group}/sandbox-template-ref-hash`],
        }),
        ...(isMember && {
          [`${group}/warm-pool-sandbox`]: nameHash(controller.name),
          [`${group}/created-by`]: "controller",
        }),
      },
      ...(copied.length > 0 && {
        annotations: {
          [`${group}/propagated-labels`]: copied.sort().join(","),
          ...(isMember && { [`${group}/propagated-annotations`]: safeToEvict, [safeToEvict]: "true" }),
        },
      }),
      ownerReferences: [owner("Sandbox", name, uid)],
    },
  };
}

/** Keys that the reference would never remove, because it does not know that somebody else set them. */
export function strayKeys({ metadata }: Pod, sandbox: Sandbox): string[] {
  if (controllerOf(sandbox)?.kind === "SandboxWarmPool") return [];
  const keys = [...Object.keys(metadata?.labels ?? {}), ...Object.keys(metadata?.annotations ?? {})];
  return keys.filter((key) => key === `${group}/warm-pool-sandbox` || key === safeToEvict);
}

export function volumeFacts(_claim: PersistentVolumeClaim, sandbox: Sandbox): Facts {
  return childFacts(sandbox);
}

export function serviceFacts(sandbox: Sandbox): Facts {
  const { name = "" } = sandbox.metadata;
  return {
    ...childFacts(sandbox),
    spec: { clusterIP: "None", selector: { [`${group}/sandbox-name-hash`]: nameHash(name) } },
  };
}

function childFacts({ metadata: { name = "", uid } }: Sandbox): Facts {
  return {
    metadata: {
      labels: { [`${group}/sandbox-name-hash`]: nameHash(name) },
      ownerReferences: [owner("Sandbox", name, uid)],
    },
  };
}

/** No object has a finalizer of a controller: the reference would never remove it. */
export function foreignFinalizers({ metadata }: KubeObject): readonly string[] {
  const { finalizers = [] } = (metadata ?? {}) as { finalizers?: readonly string[] };
  return finalizers.filter((finalizer) => !finalizer.startsWith("kubernetes.io/"));
}
