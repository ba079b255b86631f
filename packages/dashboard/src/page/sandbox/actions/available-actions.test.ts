import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { type Action, availableActions, type Rights } from "./available-actions.ts";

const all: Rights = {
  patchSandboxes: true,
  createSandboxes: true,
  deleteSandboxes: true,
  createSnapshots: true,
  deletePods: true,
  patchClaims: true,
  deleteClaims: true,
};
const none = Object.fromEntries(Object.keys(all).map((right) => [right, false])) as unknown as Rights;

function sandbox(spec: Partial<Sandbox["spec"]> = {}, metadata: Sandbox["metadata"] = {}): Sandbox {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "a", ...metadata },
    spec: { podTemplate: { spec: { containers: [] } }, ...spec },
  };
}

function owned(kind: string): Sandbox {
  const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind, name: "o", uid: "o", controller: true };
  return sandbox({}, { ownerReferences: [owner] });
}

function notReady(reason: string, message: string): Sandbox {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return {
    ...sandbox(),
    status: { conditions: [{ type: "Ready", status: "False", reason, message, lastTransitionTime }] },
  };
}

const failed = notReady(
  "DependenciesNotReady",
  'Pod exists with phase: Pending; container "main": cannot pull image "x": not found',
);
const expired = notReady("SandboxExpired", "");

test.for<[string, Sandbox, Rights, readonly Action[]]>([
  ["one that runs", sandbox(), all, ["suspend", "snapshot", "fork", "restart", "extend", "delete"]],
  ["one that sleeps", sandbox({ operatingMode: "Suspended" }), all, ["resume", "snapshot", "fork", "extend", "delete"]],
  ["one that is being deleted", sandbox({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), all, []],
  ["one whose image cannot be pulled", failed, all, ["suspend", "restart", "extend", "delete"]],
  ["one whose time is over", expired, all, ["extend", "delete"]],
  ["a member of a pool", owned("SandboxWarmPool"), all, ["snapshot", "fork", "restart", "delete"]],
  [
    "a claimed one, to a user without claims",
    owned("SandboxClaim"),
    { ...all, patchClaims: false, deleteClaims: false },
    ["suspend", "snapshot", "fork", "restart"],
  ],
  ["any, to a user who may only look", sandbox(), none, []],
  ["any, to a user who may take snapshots", sandbox(), { ...none, createSnapshots: true }, ["snapshot"]],
])("offers the actions of %s", ([, given, rights, expected]) => {
  expect(availableActions(given, rights)).toEqual(expected);
});
