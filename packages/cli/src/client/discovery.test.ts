import type { Transport } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { discover, displayName, resolveResource, resourceOfKind, type ServedResource } from "./discovery.ts";

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

function serving(documents: Readonly<Record<string, unknown>>): { transport: Transport; asked: string[] } {
  const asked: string[] = [];
  const send: Transport["send"] = async ({ path }) => {
    asked.push(path);
    return { status: path in documents ? 200 : 404, headers: {}, body: documents[path] ?? { message: "not found" } };
  };
  const stream: Transport["stream"] = () => Promise.reject(new Error("no watch is needed"));
  return { transport: { send, stream, close: async () => undefined }, asked };
}

const pod = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true, singular: "pod", shortNames: ["po"] };
const sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  plural: "sandboxes",
  namespaced: true,
  singular: "sandbox",
  shortNames: [],
};

test("discovers in two requests, each group at its first version", async () => {
  const group = (name: string, version: string, resource: object) => ({
    kind: "APIGroupDiscoveryList",
    items: [{ metadata: { name }, versions: [{ version, resources: [resource] }, { version: "v1alpha1" }] }],
  });
  const { transport, asked } = serving({
    "/api": group("", "v1", {
      resource: "pods",
      responseKind: { kind: "Pod" },
      scope: "Namespaced",
      singularResource: "pod",
      shortNames: ["po"],
    }),
    "/apis": group("agents.x-k8s.io", "v1beta1", {
      resource: "sandboxes",
      responseKind: { kind: "Sandbox" },
      scope: "Namespaced",
    }),
  });
  expect(await discover(transport)).toEqual([pod, sandbox]);
  expect(asked).toEqual(["/api", "/apis"]);
});

test("asks an older server for each version", async () => {
  const list = (groupVersion: string, resource: object) => ({ groupVersion, resources: [resource] });
  const { transport } = serving({
    "/api": { kind: "APIVersions" },
    "/apis": {
      kind: "APIGroupList",
      groups: [{ name: "agents.x-k8s.io", preferredVersion: { groupVersion: "agents.x-k8s.io/v1beta1" } }],
    },
    "/api/v1": list("v1", { name: "pods", singularName: "pod", shortNames: ["po"], kind: "Pod", namespaced: true }),
    "/apis/agents.x-k8s.io/v1beta1": list("agents.x-k8s.io/v1beta1", {
      name: "sandboxes",
      kind: "Sandbox",
      namespaced: true,
    }),
  });
  expect(await discover(transport)).toEqual([pod, sandbox]);
});

test.for([
  ["a kind nobody has", { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandboxx" }],
  ["a version nobody serves", { apiVersion: "apps/v1", kind: "Deployment" }],
] as const)("names %s", async ([, object]) => {
  const list = { groupVersion: "agents.x-k8s.io/v1beta1", resources: [{ name: "sandboxes", ...sandbox }] };
  const { transport } = serving({ "/apis/agents.x-k8s.io/v1beta1": list });
  const expected = `the server doesn't have ${object.kind} in ${object.apiVersion}`;
  await expect(resourceOfKind(transport, object)).rejects.toThrow(expected);
});
