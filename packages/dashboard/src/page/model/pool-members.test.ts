import { type Sandbox, type SandboxWarmPool, sandboxTemplateHashLabel } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { describePlaces, membersOf, outdatedMembers, placesOf } from "./pool-members.ts";
import { parseMembers } from "./pool-size.ts";

const pool = (replicas: number, outdatedReplicas = 0): SandboxWarmPool => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  metadata: { name: "pool", namespace: "team", uid: "pool-uid" },
  spec: { replicas, sandboxTemplateRef: { name: "template" } },
  status: { outdatedReplicas },
});

const member = (name: string, hash: string, isReady = true, owner = "pool-uid"): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: {
    name,
    namespace: "team",
    creationTimestamp: `2026-01-01T00:00:0${name.at(-1)}Z`,
    labels: { [sandboxTemplateHashLabel]: hash },
    ownerReferences: [
      {
        apiVersion: "extensions.agents.x-k8s.io/v1beta1",
        kind: "SandboxWarmPool",
        name: "pool",
        uid: owner,
        controller: true,
      },
    ],
  },
  spec: {},
  status: {
    conditions: [
      { type: "Ready", status: isReady ? "True" : "False", reason: "R", message: "", lastTransitionTime: "" },
    ],
  },
});

test("members are the sandboxes that the pool controls by its UID, the oldest first", () => {
  const [first, second] = [member("m1", "a"), member("m2", "a")];
  const other = member("m0", "a", true, "another-pool-of-this-name");
  const leaving = member("m3", "a");
  leaving.metadata.deletionTimestamp = "2026-01-01T00:01:00Z";
  expect(membersOf(pool(2), [second, other, leaving, first])).toEqual([first, second]);
});

test("places show what each member is, and the ones that are missing", () => {
  const members = [member("m1", "old"), member("m2", "new"), member("m3", "new", false)];
  const places = placesOf(pool(5, 1), members);
  expect(places.map(({ kind }) => kind)).toEqual(["outdated", "ready", "starting", "missing", "missing"]);
  expect(describePlaces(places)).toBe("1 ready, 1 ready and out of date, 1 starting, 2 missing");
  expect(describePlaces([])).toBe("no members");
});

test("a pool with more members than it wants has no missing places", () => {
  expect(placesOf(pool(1), [member("m1", "a"), member("m2", "a")])).toHaveLength(2);
});

test.for([
  ["none", 0, []],
  ["one version", 2, ["m1", "m2"]],
  ["two versions", 3, ["m1", "m2", "m3"]],
  ["a number that no versions have", 1, []],
] as const)("out of date are whole versions from the oldest on: %s", ([, count, names]) => {
  const members = [member("m1", "a"), member("m2", "a"), member("m3", "b"), member("m4", "c")];
  expect([...outdatedMembers(members, count)].map(({ metadata }) => metadata.name)).toEqual(names);
});

test.for([
  ["0", 0],
  [" 12 ", 12],
  ["10000", 10_000],
  ["10001", undefined],
  ["-1", undefined],
  ["1.5", undefined],
  ["1e3", undefined],
  ["", undefined],
] as const)("the size %j of a pool", ([text, count]) => {
  expect(parseMembers(text)).toBe(count);
});
