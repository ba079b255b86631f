import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { mergePatch, readEdit, whyLocked, yamlOf } from "./manifest.ts";

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

const withNote = (note: string): Sandbox => ({ ...sandbox, metadata: { ...sandbox.metadata, annotations: { note } } });

test.for(["plain text, and \u00e4 \ud83d\ude00", "two\nlines\tand a tab"])("text with %j can be edited", (note) => {
  expect(whyLocked(withNote(note))).toBeUndefined();
});

test.for(["\u202eright to left", "zero\u200bwidth", "a byte order mark \ufeff"])(
  "text with %j cannot be edited, because a text field would not show it",
  (note) => {
    expect(whyLocked(withNote(note))).toContain("hidden");
  },
);
