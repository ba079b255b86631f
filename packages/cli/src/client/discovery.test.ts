import { expect, test } from "vitest";
import { displayName, resolveResource, type ServedResource } from "./discovery.ts";

const served: ServedResource[] = [
  { apiVersion: "v1", kind: "Pod", plural: "pods", singular: "pod", shortNames: ["po"], namespaced: true },
  {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    plural: "sandboxes",
    singular: "sandbox",
    shortNames: ["sandbox"],
    namespaced: true,
  },
  {
    apiVersion: "other.example/v1",
    kind: "Sandbox",
    plural: "sandboxes",
    singular: "sandbox",
    shortNames: [],
    namespaced: true,
  },
];

test.for([
  ["pods", "v1"],
  ["po", "v1"],
  ["Pod", "v1"],
  ["sandbox", "agents.x-k8s.io/v1beta1"],
  ["sandboxes.agents.x-k8s.io", "agents.x-k8s.io/v1beta1"],
  ["sandboxes.other.example", "other.example/v1"],
])("%s is found in %s", ([word, apiVersion]) => {
  expect(resolveResource(word ?? "", served).apiVersion).toBe(apiVersion);
});

test("an unknown type is named in the error", () => {
  expect(() => resolveResource("widgets", served)).toThrow('the server doesn\'t have a resource type "widgets"');
});

test("objects are named as kubectl names them", () => {
  expect(served.slice(0, 2).map((resource) => displayName(resource, "a"))).toEqual([
    "pod/a",
    "sandbox.agents.x-k8s.io/a",
  ]);
});
