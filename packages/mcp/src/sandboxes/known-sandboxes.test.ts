import type { KubeObject } from "@agent-sandbox/sdk/internal";
import { expect, test } from "vitest";
import type { Caller } from "../caller.ts";
import { KnownSandboxes } from "./known-sandboxes.ts";
import { ownerLabel, ownerOf } from "./owner.ts";

const caller = { user: "anna" } as Caller;
const mine = { [ownerLabel]: ownerOf(caller) };
const theirs = { [ownerLabel]: ownerOf({ user: "bert" }) };
const object = (uid: string, more: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Sandbox",
  metadata: { uid, labels: mine, ...more },
});
const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const claimed = { ownerReferences: [{ kind: "SandboxClaim", name: "a", controller: true }] };

function known(isClaim = false): { readonly all: KnownSandboxes; readonly changes: () => number } {
  let changes = 0;
  return { all: new KnownSandboxes({ caller, isClaim, onChange: () => void changes++ }), changes: () => changes };
}

test("tells once when a sandbox appears, and once when it begins to be deleted", () => {
  const { all, changes } = known();
  all.replace([object("old")]);
  all.update(object("old"), true);
  expect(changes()).toBe(0);
  for (const _ of [1, 2]) all.update(object("new"), true);
  expect(changes()).toBe(1);
  all.update(object("new", deleting), true);
  all.update(object("new", deleting), false);
  expect(changes()).toBe(2);
});

test("tells nothing about sandboxes of other users, of claims and of pools", () => {
  const { all, changes } = known();
  all.replace([]);
  for (const more of [{ labels: theirs }, claimed]) {
    all.update(object("x", more), true);
    all.update(object("x", more), false);
  }
  expect(changes()).toBe(0);
  const claims = known(true);
  claims.all.replace([]);
  claims.all.update(object("x", claimed), true);
  expect(claims.changes()).toBe(1);
});

test("tells what has changed while nothing was watched", () => {
  const { all, changes } = known();
  all.replace([object("a")]);
  all.replace([object("a"), object("theirs", { labels: theirs })]);
  expect(changes()).toBe(0);
  all.replace([object("b")]);
  expect(changes()).toBe(1);
});
