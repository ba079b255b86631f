import { describe, expect, test } from "vitest";
import type { Caller } from "../caller.ts";
import { isForeign, isReserved, ownerLabel, ownerOf, ownLabels } from "./owner.ts";

const anna = { user: "anna" } as Caller;
const labelled = (owner?: string) => ({
  apiVersion: "v1",
  kind: "Sandbox",
  metadata: { labels: owner === undefined ? {} : { [ownerLabel]: owner } },
});

describe("owners", () => {
  test("each user and each workspace has its own, which is a label value", () => {
    const users = [anna, { user: "anna", workspace: "x" }, { user: "bert" }, { user: 'anna","x' }];
    const owners = users.map(ownerOf);
    expect(new Set(owners).size).toBe(users.length);
    for (const owner of owners) expect(owner).toMatch(/^[0-9a-f]{20}$/);
    expect(ownerOf({ user: "anna", workspace: "" })).toBe(ownerOf(anna));
  });
  test("objects of other users are foreign, and objects that the tools did not create are not", () => {
    expect(isForeign(labelled(ownerOf({ user: "bert" })), anna)).toBe(true);
    expect(isForeign(labelled(ownerOf({ user: "anna", workspace: "x" })), anna)).toBe(true);
    expect(isForeign(labelled(ownerOf(anna)), anna)).toBe(false);
    expect(isForeign(labelled(), anna)).toBe(false);
    // An empty label is a label: nobody's hash is empty.
    expect(isForeign(labelled(""), anna)).toBe(true);
  });
});

test.for([
  ["team", false],
  ["example.com/team", false],
  ["notk8s.io/team", false],
  ["mcp.agents.x-k8s.io/owner", true],
  ["agents.x-k8s.io/created-by", true],
  ["kubernetes.io/name", true],
  ["app.kubernetes.io/name", true],
] as const)("the label %s is reserved: %s", ([label, expected]) => {
  expect(isReserved(label)).toBe(expected);
});

test("reserved labels are not shown", () => {
  const object = { ...labelled("x"), metadata: { labels: { team: "a", [ownerLabel]: "x" } } };
  expect(ownLabels(object)).toEqual({ team: "a" });
});
