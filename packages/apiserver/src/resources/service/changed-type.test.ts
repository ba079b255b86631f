import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi, type TestObject } from "../../testing/test-api.test.support.ts";

const services = "/api/v1/namespaces/default/services";
let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const create = (name: string, spec: object): Promise<TestObject> => api.create(services, { metadata: { name }, spec });

describe("a Service that changes its type", () => {
  test("loses the fields of the former type", async () => {
    await create("a", { type: "LoadBalancer", ports: [{ port: 80 }] });
    const { body } = await api.merge(`${services}/a`, { spec: { type: "ClusterIP" } });
    expect(Object.keys(body.spec)).not.toContain("allocateLoadBalancerNodePorts");
    expect(body.spec.ports).toEqual([{ port: 80, protocol: "TCP", targetPort: 80 }]);
    const { body: external } = await api.merge(`${services}/a`, {
      spec: { type: "ExternalName", externalName: "example.com" },
    });
    expect(external.spec).not.toHaveProperty("clusterIP");
  });

  test("is refused if the update sets a field that the new type cannot have", async () => {
    await create("b", { type: "NodePort", ports: [{ port: 80 }] });
    const spec = { type: "ClusterIP", ports: [{ port: 80, nodePort: 30_500 }] };
    expect((await api.merge(`${services}/b`, { spec })).status).toBe(422);
  });
});

describe("a requested node port", () => {
  test.for([1, 29_999, 32_768, 70_000])("cannot be %d", async (nodePort) => {
    const spec = { type: "NodePort", ports: [{ port: 80, nodePort }] };
    expect(await api.send("POST", services, { metadata: { name: "c" }, spec })).toMatchObject({ status: 422 });
  });

  test("is allocated to one Service, which keeps it", async () => {
    const spec = { type: "NodePort", ports: [{ port: 80, nodePort: 31_234 }] };
    await create("d", spec);
    const second = await api.send("POST", services, { metadata: { name: "e" }, spec });
    expect(second.body.message).toContain("spec.ports[0].nodePort: Invalid value: 31234: provided port is already");
    const moved = { ports: [{ port: 81, nodePort: 31_234 }] };
    expect((await api.merge(`${services}/d`, { spec: moved })).status).toBe(200);
  });
});
