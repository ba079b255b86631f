import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, configMaps, pod, pods, TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box" });
});
afterAll(() => api[Symbol.asyncDispose]());

describe("delete", () => {
  test("removes the object at once and answers with a Status that names it", async () => {
    const { metadata } = await api.create(configMaps, configMap("plain"));
    const { status, body } = await api.send("DELETE", `${configMaps}/plain`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "plain", kind: "configmaps", uid: metadata.uid },
    });
    expect((await api.send("DELETE", `${configMaps}/plain`)).status).toBe(404);
  });

  test.for([
    ["uid", { uid: "other" }],
    ["resourceVersion", { resourceVersion: "1" }],
  ] as const)("is refused if the precondition %s does not match", async ([what, preconditions]) => {
    await api.create(configMaps, configMap(`guarded-${what.toLowerCase()}`));
    const path = `${configMaps}/guarded-${what.toLowerCase()}`;
    expect(await api.send("DELETE", path, { preconditions })).toMatchObject({
      status: 409,
      body: { reason: "Conflict" },
    });
    const { metadata } = await api.get(path);
    const { uid, resourceVersion } = metadata;
    expect((await api.send("DELETE", path, { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  test("removes the object when its last finalizer is removed", async () => {
    await api.create(configMaps, configMap("held", { finalizers: ["example.com/a", "example.com/b"] }));
    const { body } = await api.send("DELETE", `${configMaps}/held`);
    expect(body).toMatchObject({
      kind: "ConfigMap",
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 },
    });
    const added = await api.merge(`${configMaps}/held`, {
      metadata: { finalizers: ["example.com/a", "example.com/c"] },
    });
    expect(added).toMatchObject({ status: 422, body: { details: { causes: [{ field: "metadata.finalizers" }] } } });
    await api.merge(`${configMaps}/held`, { metadata: { finalizers: ["example.com/b"] } });
    expect((await api.get(`${configMaps}/held`)).metadata["finalizers"]).toEqual(["example.com/b"]);
    await api.merge(`${configMaps}/held`, { metadata: { finalizers: null } });
    expect((await api.send("GET", `${configMaps}/held`)).status).toBe(404);
  });

  test("gives a bound Pod its grace period, which a second deletion can only shorten", async () => {
    await api.create(pods, pod("graceful"));
    const first = await api.send("DELETE", `${pods}/graceful`);
    expect(first.body.metadata).toMatchObject({
      deletionTimestamp: "2026-01-01T00:00:30Z",
      deletionGracePeriodSeconds: 30,
      generation: 2,
    });
    const longer = await api.send("DELETE", `${pods}/graceful`, { gracePeriodSeconds: 60 });
    expect(longer.body.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
    const shorter = await api.send("DELETE", `${pods}/graceful?gracePeriodSeconds=5`);
    expect(shorter.body.metadata).toMatchObject({
      deletionTimestamp: "2026-01-01T00:00:05Z",
      deletionGracePeriodSeconds: 5,
    });
    const last = await api.send("DELETE", `${pods}/graceful`, { gracePeriodSeconds: 0 });
    expect(last.body).toMatchObject({ kind: "Pod", metadata: { name: "graceful" } });
    expect((await api.send("GET", `${pods}/graceful`)).status).toBe(404);
  });

  test("removes a Pod that has ended without a grace period", async () => {
    await api.create(pods, pod("ended"));
    await api.merge(`${pods}/ended/status`, { status: { phase: "Succeeded" } });
    await api.send("DELETE", `${pods}/ended`);
    expect((await api.send("GET", `${pods}/ended`)).status).toBe(404);
  });

  test("deletes nothing on a dry run", async () => {
    await api.create(configMaps, configMap("dry"));
    expect((await api.send("DELETE", `${configMaps}/dry?dryRun=All`)).status).toBe(200);
    expect((await api.send("DELETE", `${configMaps}/dry`, { dryRun: ["All"] })).status).toBe(200);
    expect((await api.get(`${configMaps}/dry`)).metadata).not.toHaveProperty("deletionTimestamp");
  });

  test.for([
    [{ gracePeriodSeconds: -1 }, 400],
    [{ gracePeriodSeconds: "x" }, 400],
    [{ preconditions: { uid: 5 } }, 400],
    [{ kind: "ConfigMap" }, 400],
    [[], 400],
    [{ propagationPolicy: "Sideways" }, 422],
    [{ propagationPolicy: "Orphan", orphanDependents: false }, 422],
    [{ dryRun: ["Some"] }, 422],
  ] as const)("refuses options %j with %i", async ([options, status]) => {
    await api.send("POST", configMaps, configMap("optioned"));
    expect((await api.send("DELETE", `${configMaps}/optioned`, options)).status).toBe(status);
    expect((await api.get(`${configMaps}/optioned`)).metadata).not.toHaveProperty("deletionTimestamp");
  });

  test("does not set a deletionTimestamp on an object that it removes at once", async () => {
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const made = await api.create(accounts, { metadata: { name: "plain" } });
    expect((await api.send("DELETE", `${accounts}/plain`)).body).toEqual(made);
  });

  test("lets a second deletion change the propagation policy", async () => {
    await api.create(configMaps, configMap("twice", { finalizers: ["example.com/a"] }));
    await api.send("DELETE", `${configMaps}/twice`, { propagationPolicy: "Foreground" });
    const { body } = await api.send("DELETE", `${configMaps}/twice`, { propagationPolicy: "Background" });
    expect(body.metadata.finalizers).toEqual(["example.com/a"]);
  });

  test("does not delete collections of namespaces", async () => {
    expect((await api.send("DELETE", "/api/v1/namespaces?dryRun=All")).status).toBe(405);
  });

  test("deletes a collection by a label selector", async () => {
    const labelled = (name: string, group: string): Promise<unknown> =>
      api.create(configMaps, configMap(name, { labels: { group } }));
    await Promise.all([labelled("many-1", "x"), labelled("many-2", "x"), labelled("many-3", "y")]);
    const { status, body } = await api.send("DELETE", `${configMaps}?labelSelector=group%3Dx`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: "ConfigMapList" });
    expect(await api.names(`${configMaps}?labelSelector=group`)).toEqual(["many-3"]);
    expect((await api.send("DELETE", "/api/v1/configmaps")).status).toBe(400);
  });
});
