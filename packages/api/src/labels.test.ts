import { describe, expect, test } from "vitest";
import * as annotations from "./annotations.ts";
import * as labels from "./labels.ts";

const keysOf = (module: object) => Object.values(module).filter((value) => typeof value === "string");
const qualifiedName = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

test("every label has its name on the wire", () => {
  expect(keysOf(labels)).toEqual(
    expect.arrayContaining([
      "agents.x-k8s.io/sandbox-name-hash",
      "agents.x-k8s.io/adoptable",
      "agents.x-k8s.io/warm-pool-sandbox",
      "agents.x-k8s.io/sandbox-template-ref-hash",
      "agents.x-k8s.io/sandbox-template-hash",
      "agents.x-k8s.io/sandbox-pod-template-hash",
      "agents.x-k8s.io/launch-type",
      "agents.x-k8s.io/created-by",
      "agents.x-k8s.io/claim-uid",
      "agents.x-k8s.io/sandbox-name",
    ]),
  );
});

test("every annotation has its name on the wire", () => {
  expect(keysOf(annotations)).toEqual(
    expect.arrayContaining([
      "agents.x-k8s.io/pod-name",
      "agents.x-k8s.io/propagated-labels",
      "agents.x-k8s.io/propagated-annotations",
      "agents.x-k8s.io/sandbox-template-ref",
      "agents.x-k8s.io/sandbox-name",
      "agents.x-k8s.io/controller-first-observed-at",
      "agents.x-k8s.io/claim-first-ready-at",
      "agents.x-k8s.io/client-first-requested-at",
      "agents.x-k8s.io/webhook-first-observed-at",
      "opentelemetry.io/trace-context",
      "cluster-autoscaler.kubernetes.io/safe-to-evict",
      "agents.x-k8s.io/creation-latency-recorded",
      "agents.x-k8s.io/last-activity",
      "agents.x-k8s.io/migration-shadow",
      "agents.x-k8s.io/migration-source-template",
      "agents.x-k8s.io/storage-migrated-at",
      "api.agents.x-k8s.io/v1alpha1-sandbox-state",
      "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state",
      "api.agents.x-k8s.io/v1alpha1-sandboxtemplate-state",
      "api.agents.x-k8s.io/v1alpha1-sandboxwarmpool-state",
      "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy",
    ]),
  );
});

describe.for([
  ["labels", keysOf(labels)],
  ["annotations", keysOf(annotations)],
] as const)("%s", ([, keys]) => {
  test("are qualified names that Kubernetes accepts, each once", () => {
    expect(keys.filter((key) => !qualifiedName.test(key))).toEqual([]);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

test.for([
  ["agents.x-k8s.io/claim-uid", true],
  ["agents.x-k8s.io/anything", true],
  ["extensions.agents.x-k8s.io/anything", true],
  ["agents.x-k8s.io", false],
  ["api.agents.x-k8s.io/v1alpha1-sandbox-state", false],
  ["my-agents.x-k8s.io/x", false],
  ["agents.x-k8s.io.example.com/x", false],
  ["app", false],
] as const)("isReservedKey(%j) is %j", ([key, expected]) => {
  expect(labels.isReservedKey(key)).toBe(expected);
});

test("every label of ours is reserved", () => {
  expect(keysOf(labels).filter((key) => !labels.isReservedKey(key))).toEqual([]);
});

test("the trace is reserved among annotations only", () => {
  expect(annotations.isReservedAnnotation("opentelemetry.io/trace-context")).toBe(true);
  expect(annotations.isReservedAnnotation("agents.x-k8s.io/pod-name")).toBe(true);
  expect(annotations.isReservedAnnotation("opentelemetry.io/other")).toBe(false);
  expect(labels.isReservedKey("opentelemetry.io/trace-context")).toBe(false);
});
