import { expect, test } from "vitest";
import type { OwnerReference } from "../kubernetes.ts";
import { controllerOf, controllerReference, isControlledBy, refersToKind, withController } from "./owner-reference.ts";

const type = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool" };
const group = "extensions.agents.x-k8s.io";
const pool = controllerReference(type, { metadata: { name: "pool", uid: "pool-uid" } });
const bystander: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name: "config", uid: "config-uid" };
const owned = (...ownerReferences: OwnerReference[]) => ({ metadata: { ownerReferences } });

test("a controller reference blocks its owner's deletion and names the stored version", () => {
  expect(pool).toEqual({ ...type, name: "pool", uid: "pool-uid", controller: true, blockOwnerDeletion: true });
});

test("an owner that was never stored cannot be referred to", () => {
  expect(() => controllerReference(type, { metadata: { name: "pool" } })).toThrow(
    'Cannot refer to SandboxWarmPool "pool" as controller: it has no UID yet',
  );
});

test("the controller is found by its flag and matched by UID, never by name", () => {
  expect(controllerOf(owned(bystander, pool))).toBe(pool);
  expect(controllerOf(owned(bystander))).toBeUndefined();
  expect(controllerOf({})).toBeUndefined();
  expect(isControlledBy(owned(bystander, pool), "pool-uid")).toBe(true);
  expect(isControlledBy(owned(bystander, pool), "config-uid")).toBe(false);
  expect(isControlledBy(owned({ ...pool, uid: "" }), "")).toBe(false);
  expect(isControlledBy({}, undefined)).toBe(false);
});

test.for([
  ["extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool", true],
  ["extensions.agents.x-k8s.io/v1alpha1", "SandboxWarmPool", true],
  ["apps/v1", "SandboxWarmPool", false],
  ["v1", "SandboxWarmPool", false],
  ["extensions.agents.x-k8s.io/v1beta1", "SandboxClaim", false],
] as const)("group/kind match of %s %s: %j", ([apiVersion, kind, expected]) => {
  expect(refersToKind({ ...pool, apiVersion, kind }, { group, kind: "SandboxWarmPool" })).toBe(expected);
});

test("the core group is empty", () => {
  expect(refersToKind(bystander, { group: "", kind: "ConfigMap" })).toBe(true);
});

test("setting a controller keeps other owners and replaces an older reference to the same object", () => {
  const stale = { ...pool, apiVersion: "extensions.agents.x-k8s.io/v1alpha1", blockOwnerDeletion: false };
  expect(withController(undefined, pool)).toEqual({ ownerReferences: [pool] });
  expect(withController([stale, bystander], pool)).toEqual({ ownerReferences: [bystander, pool] });
});

test("setting a controller fails while another holds the object", () => {
  expect(withController([{ ...pool, uid: "other-uid" }], pool)).toEqual({
    error:
      'Cannot make SandboxWarmPool "pool" (UID pool-uid) the controller: SandboxWarmPool "pool" (UID other-uid) already is',
  });
});
