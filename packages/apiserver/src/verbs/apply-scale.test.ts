import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

const apiVersion = "extensions.agents.x-k8s.io/v1beta1";
const pools = `/apis/${apiVersion}/namespaces/default/sandboxwarmpools`;
const scale = (name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name, ...metadata },
  spec,
});

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

async function makePool(name: string): Promise<string> {
  const spec = { replicas: 1, sandboxTemplateRef: { name: "t" } };
  await api.create(`${pools}?fieldManager=author`, { apiVersion, kind: "SandboxWarmPool", metadata: { name }, spec });
  return `${pools}/${name}/scale`;
}

describe("applying a Scale", () => {
  test("takes ownership of spec.replicas, and of nothing else, when forced", async () => {
    const path = await makePool("taken");
    const held = await api.apply(path, "scaler", scale("taken", { replicas: 3 }));
    expect(held).toMatchObject({ status: 409, body: { reason: "Conflict" } });
    expect(held.body.message).toContain('conflict with "author" using autoscaling/v1: .spec.replicas');
    const forced = await api.apply(`${path}?force=true`, "scaler", scale("taken", { replicas: 3 }));
    expect(forced).toMatchObject({ status: 200, body: { kind: "Scale", spec: { replicas: 3 } } });
    const { spec, metadata } = await api.get(`${pools}/taken`);
    expect(spec).toEqual({ replicas: 3, sandboxTemplateRef: { name: "t" } });
    expect(metadata["managedFields"]).toContainEqual(
      expect.objectContaining({
        manager: "scaler",
        operation: "Apply",
        subresource: "scale",
        fieldsV1: { "f:spec": { "f:replicas": {} } },
      }),
    );
  });

  test.for<[string, object, number]>([
    ["something else", { apiVersion, kind: "SandboxWarmPool", metadata: { name: "kept" } }, 400],
    ["the Scale of another object", scale("other", { replicas: 2 }), 400],
    ["a fraction of a replica", scale("kept", { replicas: 1.5 }), 400],
    ["a negative number of replicas", scale("kept", { replicas: -1 }), 422],
    ["the UID of another object", scale("kept", { replicas: 2 }, { uid: "earlier" }), 409],
  ])("refuses %s", async ([, config, status]) => {
    await api.send("POST", pools, {
      apiVersion,
      kind: "SandboxWarmPool",
      metadata: { name: "kept" },
      spec: { replicas: 1, sandboxTemplateRef: { name: "t" } },
    });
    expect((await api.apply(`${pools}/kept/scale?force=true`, "scaler", config)).status).toBe(status);
    expect((await api.get(`${pools}/kept`)).spec).toMatchObject({ replicas: 1 });
  });

  test("does not create a missing object", async () => {
    expect((await api.apply(`${pools}/nosuch/scale`, "scaler", scale("nosuch", { replicas: 1 }))).status).toBe(404);
  });
});
