import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { mergePatch, readEdit, yamlOf } from "./manifest.ts";

const sandbox: Sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "a", namespace: "default", uid: "u", resourceVersion: "7", labels: { team: "x" } },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "one" }] } }, service: true },
  status: { nodeName: "n" },
};
const text = yamlOf(sandbox, false);

test("shows what a person edits, and everything on demand", () => {
  expect(text).not.toMatch(/uid|resourceVersion|status/);
  expect(yamlOf(sandbox, true)).toMatch(/uid: u[\s\S]*nodeName: n/);
});

test("an edit is a patch of what changed, for the version that was edited", () => {
  const edited = text
    .replace("image: one", "image: two")
    .replace("  service: true\n", "")
    .replace("team: x", "team: y");
  expect(readEdit(edited, sandbox).patch).toEqual({
    metadata: { resourceVersion: "7", uid: "u", labels: { team: "y" } },
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "two" }] } }, service: null },
  });
});

test.for<[string, string, string]>([
  ["text that is not YAML", "a: [", "not valid YAML"],
  ["a list", "- a", "not an object"],
  ["another name", text.replace("name: a", "name: b"), "metadata.name cannot be changed"],
  ["another kind", text.replace("kind: Sandbox", "kind: Secret"), "kind cannot be changed"],
  ["aliases, which can be huge", `${text}x: &x [1]\ny: *x\n`, "not valid YAML"],
  ["a text that is too long", " ".repeat(1_000_001), "1,000,000"],
])("refuses %s", ([, given, expected]) => {
  expect(() => readEdit(given, sandbox)).toThrow(expected);
});

test("a merge patch of equal objects is nothing", () => {
  expect(mergePatch({ a: [1], b: { c: 1 } }, { a: [1], b: { c: 1 } })).toBeUndefined();
});
