import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { manifestYaml } from "./manifest-yaml.ts";

test("the reason of a rule becomes a comment above it", () => {
  const rules = [
    { why: 'Reads "Pods": always.', apiGroups: [""], resources: ["pods"], verbs: ["get"] },
    { why: "Writes them.", apiGroups: [""], resources: ["pods"], verbs: ["patch"] },
  ];
  const yaml = manifestYaml([{ kind: "Role", rules }, { kind: "Other" }], "About this file.");
  expect(yaml).toBe(`# About this file.
kind: Role
rules:
# Reads "Pods": always.
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - get
# Writes them.
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - patch
---
kind: Other
`);
  expect(parseAllDocuments(yaml)).toHaveLength(2);
});

test("long comments are wrapped", () => {
  const lines = manifestYaml([{ kind: "Role" }], "word ".repeat(60).trim()).split("\n");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(120);
  expect(lines.filter((line) => line.startsWith("# word")).length).toBeGreaterThan(1);
});
