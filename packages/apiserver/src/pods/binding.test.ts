import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pod, pods, TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const binding = (name: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name },
  target: { kind: "Node", name: "box" },
  ...more,
});

describe("a binding", () => {
  test("assigns a Pod to a node, once", async () => {
    await api.create(pods, pod("free"));
    const labelled = binding("free", { metadata: { name: "free", labels: { zone: "a" } } });
    expect((await api.send("POST", `${pods}/free/binding?dryRun=All`, labelled)).status).toBe(201);
    expect((await api.get(`${pods}/free`)).spec).not.toHaveProperty("nodeName");
    expect(await api.send("POST", `${pods}/free/binding`, labelled)).toMatchObject({
      status: 201,
      body: { kind: "Status", status: "Success" },
    });
    expect(await api.get(`${pods}/free`)).toMatchObject({
      metadata: { labels: { zone: "a" } },
      spec: { nodeName: "box" },
      status: { conditions: [{ type: "PodScheduled", status: "True" }] },
    });
    expect(await api.send("POST", `${pods}/free/binding`, binding("free"))).toMatchObject({
      status: 409,
      body: { reason: "Conflict", message: expect.stringContaining('already assigned to node "box"') },
    });
  });

  test.for<[string, object, number]>([
    ["with another name", binding("other"), 400],
    ["of another kind", binding("stays", { kind: "Pod" }), 400],
    ["without a target", binding("stays", { target: {} }), 422],
    ["to an object that is not a node", binding("stays", { target: { kind: "Pod", name: "x" } }), 422],
    ["with the UID of another Pod", binding("stays", { metadata: { name: "stays", uid: "other" } }), 409],
  ])("%s is refused", async ([, body, status]) => {
    await api.send("POST", pods, pod("stays"));
    expect((await api.send("POST", `${pods}/stays/binding`, body)).status).toBe(status);
    expect((await api.get(`${pods}/stays`)).spec).not.toHaveProperty("nodeName");
  });

  test("is refused for a Pod with scheduling gates and for a missing Pod", async () => {
    const gated = pod("gated") as { spec: object };
    await api.create(pods, { ...gated, spec: { ...gated.spec, schedulingGates: [{ name: "example.com/wait" }] } });
    expect((await api.send("POST", `${pods}/gated/binding`, binding("gated"))).status).toBe(409);
    expect((await api.send("POST", `${pods}/nosuch/binding`, binding("nosuch"))).status).toBe(404);
    expect((await api.send("GET", `${pods}/gated/binding`)).status).toBe(405);
  });
});
