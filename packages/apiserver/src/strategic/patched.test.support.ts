import { expect } from "vitest";
import type { MergeSchema } from "../apply/merge-schema.ts";
import { strategicMergePatch } from "./strategic-merge-patch.ts";

const text: MergeSchema = { type: "string" };
const byName = { "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name" } as const;
const pair: MergeSchema = { type: "object", properties: { name: text, value: text } };

export const spec: MergeSchema = {
  type: "object",
  properties: {
    replicas: { type: "integer" },
    labels: { type: "object", additionalProperties: text },
    args: { type: "array", items: text },
    zones: { type: "array", items: text, "x-kubernetes-patch-strategy": "merge" },
    containers: {
      type: "array",
      items: {
        type: "object",
        properties: { name: text, image: text, env: { type: "array", items: pair, ...byName } },
      },
      ...byName,
    },
    volumes: { type: "array", items: pair, ...byName, "x-kubernetes-patch-strategy": "merge,retainKeys" },
    strategy: { type: "object", properties: { type: text }, "x-kubernetes-patch-strategy": "retainKeys" },
    whole: { type: "object", additionalProperties: text, "x-kubernetes-patch-strategy": "replace" },
    keyless: { type: "array", items: pair, "x-kubernetes-patch-strategy": "merge" },
  },
};
export const schema: MergeSchema = { type: "object", properties: { spec } };

export function patched(live: unknown, patch: unknown): unknown {
  const before = JSON.stringify([live, patch]);
  const result = strategicMergePatch({ spec: live }, { spec: patch }, schema);
  expect(JSON.stringify([live, patch])).toBe(before);
  return "value" in result ? result.value["spec"] : result;
}

export const named = (names: string): object[] => names.split("").map((name) => ({ name }));
