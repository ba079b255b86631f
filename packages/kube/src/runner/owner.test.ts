import { describe, expect, test } from "vitest";
import type { KubeObject, Resource } from "../resource.ts";
import { controllerKey, isControlledBy } from "./owner.ts";

const sandboxes: Resource = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  plural: "sandboxes",
  namespaced: true,
};
const nodes: Resource = { apiVersion: "v1", kind: "Node", plural: "nodes", namespaced: false };

const owned = (apiVersion: string, kind: string, controller?: boolean): KubeObject => ({
  metadata: {
    name: "pod",
    namespace: "a",
    ownerReferences: [
      { apiVersion: "v1", kind: "Other", name: "first", uid: "1" },
      { apiVersion, kind, name: "box", uid: "2", ...(controller === undefined ? {} : { controller }) },
    ],
  },
});

describe("controllerKey()", () => {
  test.for<[string, KubeObject, Resource, string | undefined]>([
    ["finds the controller", owned("agents.x-k8s.io/v1beta1", "Sandbox", true), sandboxes, "a/box"],
    ["at whatever version it was recorded", owned("agents.x-k8s.io/v1alpha1", "Sandbox", true), sandboxes, "a/box"],
    ["not of another group", owned("other.io/v1beta1", "Sandbox", true), sandboxes, undefined],
    ["not of another kind", owned("agents.x-k8s.io/v1beta1", "SandboxClaim", true), sandboxes, undefined],
    ["not an owner that does not control", owned("agents.x-k8s.io/v1beta1", "Sandbox"), sandboxes, undefined],
    ["without a namespace when the kind has none", owned("v1", "Node", true), nodes, "box"],
    ["nothing without owners", { metadata: { name: "pod", namespace: "a" } }, sandboxes, undefined],
  ])("%s", ([, object, owner, expected]) => {
    expect(controllerKey(object, owner)).toBe(expected);
  });

  test("an object with the name of the controller and another UID is not the controller", () => {
    const pod = owned("agents.x-k8s.io/v1beta1", "Sandbox", true);
    expect(isControlledBy(pod, { metadata: { name: "box", uid: "2" } })).toBe(true);
    expect(isControlledBy(pod, { metadata: { name: "box", uid: "3" } })).toBe(false);
    expect(isControlledBy(pod, { metadata: { name: "box" } })).toBe(false);
  });
});
