import {
  type Condition,
  controllerReference,
  nameHash,
  type PodMetadata,
  type Sandbox,
  type SandboxClaim,
  type SandboxClaimSpec,
  type SandboxTemplate,
  type SandboxTemplateSpec,
  type SandboxWarmPool,
  type SandboxWarmPoolSpec,
  sandboxClaims,
} from "@agent-sandbox/api";
import { blueprintOf } from "./template/blueprint.ts";
import { memberOf } from "./warm-pool/prototype.ts";

export const epoch: number = Date.parse("2026-03-01T10:00:00Z");
export const created = "2026-03-01T10:00:00Z";

export function templateOf(
  spec: Partial<SandboxTemplateSpec> = {},
  metadata: SandboxTemplate["metadata"] = {},
): SandboxTemplate {
  const podTemplate = { spec: { containers: [{ name: "c", image: "host" }] } };
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: { name: "test-template", namespace: "default", uid: "template-uid", resourceVersion: "1", ...metadata },
    spec: { podTemplate, ...spec },
  };
}

export function poolOf(
  spec: Partial<SandboxWarmPoolSpec> = {},
  metadata: SandboxWarmPool["metadata"] = {},
): SandboxWarmPool {
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxWarmPool",
    metadata: { name: "pool", namespace: "default", uid: "pool-uid", generation: 1, resourceVersion: "1", ...metadata },
    spec: { replicas: 3, sandboxTemplateRef: { name: "test-template" }, ...spec },
  };
}

export function claimOf(
  spec: Partial<SandboxClaimSpec> = {},
  metadata: SandboxClaim["metadata"] = {},
  status?: SandboxClaim["status"],
): SandboxClaim {
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: {
      name: "my-claim",
      namespace: "default",
      uid: "claim-uid",
      generation: 1,
      resourceVersion: "7",
      creationTimestamp: created,
      ...metadata,
    },
    spec: { warmPoolRef: { name: "pool" }, ...spec },
    ...(status && { status }),
  };
}

export function condition(
  type: string,
  status: Condition["status"],
  reason: string,
  over: Partial<Condition> = {},
): Condition {
  return { type, status, reason, message: "", lastTransitionTime: created, ...over };
}

export const readyStatus: NonNullable<Sandbox["status"]> = {
  podIPs: ["10.0.0.2"],
  nodeName: "node-1",
  conditions: [condition("Ready", "True", "DependenciesReady", { message: "Pod is Ready" })],
};

export const startingStatus: NonNullable<Sandbox["status"]> = {
  conditions: [condition("Ready", "False", "DependenciesNotReady", { message: "Pod exists with phase: Pending" })],
};

interface MemberParts {
  readonly template?: SandboxTemplate;
  readonly pool?: SandboxWarmPool;
  readonly status?: Sandbox["status"];
  readonly metadata?: Sandbox["metadata"];
}

/** A member as the pool creates it from the template. */
export function memberNamed(name: string, parts: MemberParts = {}): Sandbox {
  const { template = templateOf(), pool = poolOf(), status = readyStatus, metadata = {} } = parts;
  const member = memberOf(pool, blueprintOf(template), { markEvictable: true });
  const { generateName: _, ...made } = member.metadata;
  const stored = { name, uid: `uid-${name}`, generation: 1, resourceVersion: "5", creationTimestamp: created };
  return { ...member, metadata: { ...made, ...stored, ...metadata }, ...(status && { status }) };
}

interface BoundParts {
  readonly name?: string;
  readonly status?: Sandbox["status"];
  readonly labels?: Readonly<Record<string, string>>;
  readonly podMetadata?: PodMetadata;
  readonly annotations?: Record<string, string>;
}

/** A Sandbox that the claim controls, as a cold start creates it. */
export function boundTo(claim: SandboxClaim, parts: BoundParts = {}): Sandbox {
  const { name = claim.metadata.name ?? "", status = readyStatus, labels = {}, podMetadata = {} } = parts;
  const { annotations = { "agents.x-k8s.io/sandbox-template-ref": "test-template" } } = parts;
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name,
      namespace: claim.metadata.namespace ?? "",
      uid: `uid-${name}`,
      generation: 1,
      resourceVersion: "9",
      creationTimestamp: created,
      labels: {
        "agents.x-k8s.io/claim-uid": claim.metadata.uid ?? "",
        "agents.x-k8s.io/launch-type": "cold",
        "agents.x-k8s.io/sandbox-template-ref-hash": nameHash("test-template"),
        ...labels,
      },
      annotations,
      ownerReferences: [controllerReference(sandboxClaims, claim)],
    },
    spec: {
      podTemplate: {
        metadata: {
          labels: {
            "agents.x-k8s.io/claim-uid": claim.metadata.uid ?? "",
            "agents.x-k8s.io/sandbox-template-ref-hash": nameHash("test-template"),
            ...podMetadata.labels,
          },
          ...(podMetadata.annotations && { annotations: podMetadata.annotations }),
        },
        spec: blueprintOf(templateOf()).spec.podTemplate.spec,
      },
    },
    ...(status && { status }),
  };
}
