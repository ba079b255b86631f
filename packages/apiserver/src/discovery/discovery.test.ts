import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const aggregated =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

interface Named {
  readonly name: string;
}

describe("discovery", () => {
  test("lists groups with the storage version first", async () => {
    const { groups } = await api.get("/apis");
    expect((groups as Named[]).map(({ name }) => name)).toEqual([
      "events.k8s.io",
      "apiextensions.k8s.io",
      "coordination.k8s.io",
      "discovery.k8s.io",
      "networking.k8s.io",
      "node.k8s.io",
      "rbac.authorization.k8s.io",
      "scheduling.k8s.io",
      "storage.k8s.io",
      "authentication.k8s.io",
      "authorization.k8s.io",
      "agents.x-k8s.io",
      "extensions.agents.x-k8s.io",
      "snapshots.agents.x-k8s.io",
      "podsnapshot.gke.io",
    ]);
    expect(await api.get("/apis/agents.x-k8s.io")).toMatchObject({
      kind: "APIGroup",
      versions: [{ version: "v1beta1" }, { version: "v1alpha1" }],
      preferredVersion: { groupVersion: "agents.x-k8s.io/v1beta1" },
    });
    expect(await api.get("/api")).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
  });

  test("lists resources and subresources", async () => {
    const { resources } = await api.get("/apis/agents.x-k8s.io/v1alpha1");
    expect((resources as Named[]).map(({ name }) => name)).toEqual([
      "sandboxes",
      "sandboxes/status",
      "sandboxes/scale",
    ]);
    const { resources: core } = await api.get("/api/v1");
    const parts = (core as Named[])
      .map(({ name }) => name)
      .filter((name) => /^(?:namespaces|nodes|services)\//.test(name));
    expect(parts).toEqual([
      "namespaces/status",
      "namespaces/finalize",
      "nodes/status",
      "nodes/proxy",
      "services/status",
      "services/proxy",
    ]);
    expect(core).toContainEqual({
      name: "pods",
      singularName: "pod",
      namespaced: true,
      kind: "Pod",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["po"],
      categories: ["all"],
      // The same hash in every Kubernetes.
      storageVersionHash: "xPOwRZ+Yhw8=",
    });
  });

  test("is aggregated for clients that ask for it", async () => {
    const { body, headers } = await api.send("GET", "/apis", undefined, { accept: aggregated });
    expect(headers["content-type"]).toBe("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    const group = body.items.find((item: { metadata: Named }) => item.metadata.name === "extensions.agents.x-k8s.io");
    expect(group.versions[0].resources).toContainEqual(
      expect.objectContaining({
        resource: "sandboxwarmpools",
        scope: "Namespaced",
        singularResource: "sandboxwarmpool",
        shortNames: ["swp"],
      }),
    );
    const { body: core } = await api.send("GET", "/api", undefined, { accept: aggregated });
    expect(core.items).toHaveLength(1);
  });

  test.for(["/apis/nothing", "/apis/nothing/v1", "/api/v2", "/openapi/v4", "/openapi/v3/api/v9", "/swagger"])(
    "does not know %s",
    async (path) => {
      expect(await api.send("GET", path)).toMatchObject({ status: 404, body: { kind: "Status", reason: "NotFound" } });
    },
  );

  test("answers health checks and lists paths", async () => {
    expect((await api.send("GET", "/readyz")).body).toBe("ok");
    expect((await api.get("/"))["paths"]).toContain("/apis/agents.x-k8s.io/v1beta1");
    expect((await api.send("POST", "/version")).status).toBe(404);
  });
});
