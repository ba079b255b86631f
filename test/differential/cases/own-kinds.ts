import type { KindUnderTest } from "./kind-under-test.ts";

const container = { name: "main", image: "busybox:1" };
const podTemplate = { spec: { containers: [container] } };
const extensions = "extensions.agents.x-k8s.io";

/** The kinds of Agent Sandbox. */
export const ownKinds: readonly KindUnderTest[] = [
  {
    plural: "sandboxes",
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    valid: { spec: { podTemplate } },
    change: { spec: { operatingMode: "Suspended" } },
    status: {
      service: "s",
      conditions: [
        { type: "Ready", status: "True", reason: "Up", message: "", lastTransitionTime: "2024-01-01T00:00:00Z" },
      ],
    },
    invalid: {
      "no spec": { spec: null },
      "no template": { spec: { podTemplate: null } },
      "no containers": { spec: { podTemplate: { spec: { containers: null } } } },
      "bad mode": { spec: { operatingMode: "Sleeping" } },
      "bad time": { spec: { shutdownTime: "tomorrow" } },
      "bad policy": { spec: { shutdownPolicy: "Forget" } },
      "short idle time": { spec: { idlePolicy: { suspendAfterSeconds: 1 } } },
      "number as text": { spec: { operatingMode: 7 } },
      "text as flag": { spec: { service: "yes" } },
      "fraction as integer": { spec: { idlePolicy: { suspendAfterSeconds: 10.5 } } },
      "object as list": { spec: { podTemplate: { spec: { containers: {} } } } },
      "bad status": { status: { conditions: [{ type: "Ready" }] } },
    },
  },
  {
    plural: "sandboxtemplates",
    apiVersion: `${extensions}/v1beta1`,
    kind: "SandboxTemplate",
    valid: { spec: { podTemplate } },
    change: { spec: { envVarsInjectionPolicy: "Allowed" } },
    invalid: {
      "no spec": { spec: null },
      "bad management": { spec: { networkPolicyManagement: "Partly" } },
      "bad injection": { spec: { envVarsInjectionPolicy: "Maybe" } },
      "list as spec": { spec: [] },
    },
  },
  {
    plural: "sandboxclaims",
    apiVersion: `${extensions}/v1beta1`,
    kind: "SandboxClaim",
    valid: { spec: { warmPoolRef: { name: "pool" } } },
    change: { spec: { env: [{ name: "A", value: "1" }] } },
    status: { sandbox: { name: "s" } },
    invalid: {
      "no pool": { spec: { warmPoolRef: null } },
      "pool without name": { spec: { warmPoolRef: { name: null } } },
      "number as name": { spec: { warmPoolRef: { name: 1 } } },
      "bad lifecycle": { spec: { lifecycle: { shutdownTime: 1 } } },
    },
  },
  {
    plural: "sandboxwarmpools",
    apiVersion: `${extensions}/v1beta1`,
    kind: "SandboxWarmPool",
    valid: { spec: { sandboxTemplateRef: { name: "template" } } },
    change: { spec: { replicas: 3 } },
    status: { replicas: 2, readyReplicas: 1, selector: "a=b" },
    invalid: {
      "no template": { spec: { sandboxTemplateRef: null } },
      "negative size": { spec: { replicas: -1 } },
      "text as size": { spec: { replicas: "three" } },
      "too large a size": { spec: { replicas: 3_000_000_000 } },
      "bad strategy": { spec: { updateStrategy: { type: "Never" } } },
    },
  },
  {
    plural: "sandboxsnapshots",
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    valid: { spec: { sandboxRef: { name: "s" } } },
    change: { spec: { deletionPolicy: "Retain" } },
    status: { depth: "Memory", sizeBytes: 1 },
    invalid: {
      "no source": { spec: { sandboxRef: null } },
      "two sources": { spec: { claimRef: { name: "c" } } },
      "bad depth": { spec: { depth: "Volumes" } },
      "no time to live": { spec: { ttlSecondsAfterCreation: 0 } },
    },
  },
  {
    plural: "sandboxes",
    title: "sandboxes alpha",
    apiVersion: "agents.x-k8s.io/v1alpha1",
    kind: "Sandbox",
    valid: { spec: { podTemplate, replicas: 0 } },
    change: { spec: { replicas: 1 } },
    status: { replicas: 1 },
    invalid: { "too many": { spec: { replicas: 2 } }, "no template": { spec: { podTemplate: null } } },
  },
];
