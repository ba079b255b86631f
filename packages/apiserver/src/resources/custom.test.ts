import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sandbox, sandboxes, TestApi } from "../testing/test-api.test.support.ts";

const alpha = "/apis/agents.x-k8s.io/v1alpha1/namespaces/default/sandboxes";
const pools = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxwarmpools";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const alphaSandbox = (name: string, spec: object = {}): object => ({
  ...sandbox(name, spec),
  apiVersion: "agents.x-k8s.io/v1alpha1",
});
const volume = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

describe("the platform's own kinds", () => {
  test("get their defaults", async () => {
    expect(await api.create(sandboxes, sandbox("defaults"))).toMatchObject({
      metadata: { generation: 1 },
      spec: { operatingMode: "Running", shutdownPolicy: "Retain" },
    });
  });

  test("are served in both versions and stored in one", async () => {
    await api.create(alpha, alphaSandbox("both", { replicas: 0 }));
    expect(await api.get(`${sandboxes}/both`)).toMatchObject({
      apiVersion: "agents.x-k8s.io/v1beta1",
      spec: { operatingMode: "Suspended" },
    });
    expect(await api.get(`${alpha}/both`)).toMatchObject({
      apiVersion: "agents.x-k8s.io/v1alpha1",
      spec: { replicas: 0 },
    });
    const watching = await api.watch(`${alpha}?watch=true&fieldSelector=metadata.name%3Dboth`);
    expect((await watching.next()).object).toMatchObject({
      apiVersion: "agents.x-k8s.io/v1alpha1",
      spec: { replicas: 0 },
    });
    watching.stop();
  });

  test("refuse an annotation that would make lists in the other version fail", async () => {
    const unreadable = { "api.agents.x-k8s.io/v1alpha1-sandbox-state": "not JSON" };
    const hostile = { ...sandbox("hostile"), metadata: { name: "hostile", annotations: unreadable } };
    const answer = await api.send("POST", sandboxes, hostile);
    expect(answer).toMatchObject({ status: 422, body: { message: expect.stringContaining("it is not valid JSON") } });
    await api.create(sandboxes, sandbox("hostile"));
    expect(await api.merge(`${sandboxes}/hostile`, { metadata: { annotations: unreadable } })).toMatchObject({
      status: 422,
    });
    expect(await api.send("GET", alpha)).toMatchObject({ status: 200 });
  });

  test("warn about the old version", async () => {
    const { headers } = await api.send("GET", alpha);
    expect(headers["warning"]).toMatch(/^299 - "agents.x-k8s.io\/v1alpha1 Sandbox is deprecated/);
    expect((await api.send("GET", sandboxes)).headers).not.toHaveProperty("warning");
  });

  test("refuse changes of volumeClaimTemplates in either version", async () => {
    await api.create(sandboxes, sandbox("volumes", { volumeClaimTemplates: [volume] }));
    const patch = { spec: { volumeClaimTemplates: [volume, { ...volume, metadata: { name: "more" } }] } };
    for (const path of [`${sandboxes}/volumes`, `${alpha}/volumes`]) {
      const answer = await api.merge(path, patch);
      expect(answer.status).toBe(422);
      expect(answer.body.message).toContain("volumeClaimTemplates is immutable");
    }
    for (const path of [`${sandboxes}/volumes`, `${alpha}/volumes`]) {
      expect((await api.merge(path, { spec: { volumeClaimTemplates: null } })).status).toBe(422);
    }
    expect((await api.get(`${sandboxes}/volumes`)).spec?.["volumeClaimTemplates"]).toHaveLength(1);
  });

  test("are not written when nothing changes, in the old version too", async () => {
    const created = await api.create(alpha, alphaSandbox("idle"));
    const again = await api.send("PUT", `${alpha}/idle`, created);
    expect(again).toMatchObject({
      status: 200,
      body: { metadata: { resourceVersion: created.metadata.resourceVersion } },
    });
  });

  test("lose unknown fields and are refused for invalid ones", async () => {
    const body = sandbox("pruned", {
      podTemplate: { spec: { containers: [{ name: "a", image: "b", constructor: 1, bogus: 2 }] } },
    });
    const created = await api.create(sandboxes, body);
    expect(created.spec).toMatchObject({ podTemplate: { spec: { containers: [{ name: "a", image: "b" }] } } });
    expect(JSON.stringify(created)).not.toMatch(/bogus|constructor/);
    const wrong = await api.send(
      "POST",
      sandboxes,
      sandbox("wrong", { podTemplate: { spec: { containers: [{ name: 1 }] } } }),
    );
    expect(wrong.status).toBe(422);
    expect(wrong.body.details.causes[0].field).toBe("spec.podTemplate.spec.containers[0].name");
    expect((await api.send("POST", sandboxes, { ...sandbox("empty"), spec: undefined })).status).toBe(422);
  });

  test("have a scale subresource", async () => {
    const type = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool" };
    const pool = { ...type, metadata: { name: "pool" }, spec: { replicas: 2, sandboxTemplateRef: { name: "t" } } };
    await api.create(pools, pool);
    expect(await api.get(`${pools}/pool/scale`)).toMatchObject({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      spec: { replicas: 2 },
      status: { replicas: 0 },
    });
    const patched = await api.merge(`${pools}/pool/scale`, { spec: { replicas: 5 } });
    expect(patched.body.spec).toEqual({ replicas: 5 });
    expect(await api.get(`${pools}/pool`)).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 5 } });
    const scale = await api.get(`${pools}/pool/scale`);
    expect((await api.send("PUT", `${pools}/pool/scale`, { ...scale, spec: { replicas: 7 } })).status).toBe(200);
    expect((await api.send("PUT", `${pools}/pool/scale`, { ...scale, spec: { replicas: 8 } })).status).toBe(409);
    expect((await api.merge(`${pools}/pool/scale`, { spec: { replicas: -1 } })).status).toBe(422);
    expect((await api.send("GET", `${sandboxes}/defaults/scale`)).status).toBe(404);
  });
});
