import { describe, expect, test } from "vitest";
import {
  configMap,
  configMaps,
  pod,
  pods,
  sandbox,
  sandboxes,
  TestApi,
  type TestObject,
} from "../testing/test-api.test.support.ts";

const ownedBy = (...owners: TestObject[]): object => ({
  ownerReferences: owners.map(({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    blockOwnerDeletion: true,
  })),
});

describe("garbage collection", () => {
  test("deletes dependents of a deleted owner, and theirs", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(sandboxes, sandbox("owner"));
    const child = await api.create(pods, pod("child", ownedBy(owner)));
    await api.create(configMaps, configMap("grandchild", ownedBy(child)));
    await api.create(configMaps, configMap("stranger"));
    await api.send("DELETE", `${sandboxes}/owner`);
    await api.gone(configMaps, "grandchild");
    await api.gone(pods, "child");
    expect(await api.names(configMaps)).toEqual(["stranger"]);
  });

  test("orphans the dependents of a dependent with the orphan finalizer", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(sandboxes, sandbox("owner"));
    const child = await api.create(pods, pod("child", { ...ownedBy(owner), finalizers: ["orphan"] }));
    await api.create(configMaps, configMap("grandchild", ownedBy(child)));
    await api.send("DELETE", `${sandboxes}/owner`);
    await api.gone(pods, "child");
    expect((await api.get(`${configMaps}/grandchild`)).metadata).not.toHaveProperty("ownerReferences");
  });

  test("deletes a dependent that is being updated concurrently", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(configMaps, configMap("owner"));
    const names = Array.from({ length: 20 }, (_, at) => `child-${at}`);
    await Promise.all(names.map((name) => api.create(pods, pod(name, ownedBy(owner)))));
    const changeWhileThere = async (name: string): Promise<number> => {
      for (let at = 0; at < 1000; at += 1) {
        const { status } = await api.merge(`${pods}/${name}`, { metadata: { labels: { at: String(at) } } });
        if (status !== 200) return status;
      }
      return 200;
    };
    const changing = Promise.all(names.map(changeWhileThere));
    await api.send("DELETE", `${configMaps}/owner`);
    expect(new Set(await changing)).toEqual(new Set([404]));
  });

  test("matches owners by UID: a recreated owner is another object", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(configMaps, configMap("owner"));
    await api.send("DELETE", `${configMaps}/owner`);
    await api.create(configMaps, configMap("owner"));
    await api.create(pods, pod("late", ownedBy(owner)));
    await api.gone(pods, "late");
    expect(await api.names(configMaps)).toEqual(["owner"]);
  });

  test("keeps an object with another owner and removes the reference to the deleted one", async () => {
    await using api = await TestApi.start();
    const gone = await api.create(configMaps, configMap("gone"));
    const kept = await api.create(configMaps, configMap("kept"));
    const child = await api.create(pods, pod("child", ownedBy(gone, kept)));
    const watching = await api.watch(`${pods}?watch=true&resourceVersion=${child.metadata.resourceVersion}`);
    await api.send("DELETE", `${configMaps}/gone`);
    const { object } = await watching.next();
    expect(object.metadata["ownerReferences"]).toEqual([expect.objectContaining({ uid: kept.metadata.uid })]);
  });

  test("ignores owners in another namespace", async () => {
    await using api = await TestApi.start();
    const owner = await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("far"));
    await api.create(pods, pod("child", ownedBy(owner)));
    await api.gone(pods, "child");
    expect(await api.names("/api/v1/configmaps")).toEqual(["far"]);
  });

  test("orphans dependents with propagationPolicy Orphan", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(configMaps, configMap("owner"));
    await api.create(pods, pod("child", ownedBy(owner)));
    await api.send("DELETE", `${configMaps}/owner`, { propagationPolicy: "Orphan" });
    await api.gone(configMaps, "owner");
    expect((await api.get(`${pods}/child`)).metadata).not.toHaveProperty("ownerReferences");
  });

  test("deletes dependents first with propagationPolicy Foreground", async () => {
    await using api = await TestApi.start({ nodeName: "box" });
    const owner = await api.create(configMaps, configMap("owner"));
    await api.create(pods, pod("child", ownedBy(owner)));
    const { body } = await api.send("DELETE", `${configMaps}/owner?propagationPolicy=Foreground`);
    expect(body.metadata.finalizers).toEqual(["foregroundDeletion"]);
    const watching = await api.watch(`${pods}?watch=true`);
    while ((await watching.next()).object.metadata["deletionTimestamp"] === undefined);
    expect(await api.names(configMaps)).toEqual(["owner"]);
    await api.send("DELETE", `${pods}/child`, { gracePeriodSeconds: 0 });
    await api.gone(configMaps, "owner");
  });
});

describe("namespace deletion", () => {
  test("ends when a user removes the finalizer of a stuck namespace", async () => {
    await using api = await TestApi.start();
    const path = "/api/v1/namespaces/stuck";
    await api.create("/api/v1/namespaces", { metadata: { name: "stuck" } });
    await api.create(`${path}/configmaps`, { metadata: { name: "held", finalizers: ["example.com/nobody"] } });
    await api.send("DELETE", path);
    const body = { ...(await api.get(path)), spec: { finalizers: [] } };
    expect((await api.send("PUT", path, body)).status).toBe(200);
    expect(await api.get(path)).toMatchObject({ spec: { finalizers: ["kubernetes"] } });
    const { metadata } = await api.get(path);
    expect((await api.send("PUT", `${path}/finalize`, { ...body, metadata })).status).toBe(200);
    expect((await api.send("GET", path)).status).toBe(404);
  });

  test("deletes all objects, waits for finalizers, then removes the namespace", async () => {
    await using api = await TestApi.start({ nodeName: "box" });
    await api.create("/api/v1/namespaces", { metadata: { name: "team" } });
    const inside = "/api/v1/namespaces/team";
    await api.create(`${inside}/configmaps`, configMap("a"));
    await api.create(`${inside}/pods`, pod("slow"));
    await api.create("/apis/agents.x-k8s.io/v1beta1/namespaces/team/sandboxes", sandbox("s"));
    const { body } = await api.send("DELETE", inside);
    expect(body).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } });
    await api.gone(`${inside}/configmaps`, "a");
    expect((await api.get(`${inside}/pods/slow`)).metadata["deletionTimestamp"]).toBeDefined();
    expect(await api.send("POST", `${inside}/configmaps`, configMap("b"))).toMatchObject({
      status: 403,
      body: { reason: "Forbidden", details: { causes: [{ reason: "NamespaceTerminating" }] } },
    });
    await api.send("DELETE", `${inside}/pods/slow`, { gracePeriodSeconds: 0 });
    await api.gone("/api/v1/namespaces", "team");
  });

  test("removes an empty namespace at once, and never the permanent ones", async () => {
    await using api = await TestApi.start();
    await api.create("/api/v1/namespaces", { metadata: { name: "empty" } });
    await api.send("DELETE", "/api/v1/namespaces/empty");
    await api.gone("/api/v1/namespaces", "empty");
    expect(await api.send("DELETE", "/api/v1/namespaces/default")).toMatchObject({
      status: 403,
      body: { reason: "Forbidden" },
    });
  });

  test("the default namespaces exist", async () => {
    await using api = await TestApi.start();
    expect(await api.names("/api/v1/namespaces")).toEqual([
      "agent-sandbox-system",
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
  });
});

describe("references from another namespace", () => {
  const elsewhere = "/api/v1/namespaces/elsewhere/configmaps";
  const held = { finalizers: ["example.com/held"] };

  test("do not delay a foreground deletion", async () => {
    await using api = await TestApi.start();
    await api.create("/api/v1/namespaces", { metadata: { name: "elsewhere" } });
    const owner = await api.create(configMaps, configMap("owner"));
    await api.create(elsewhere, configMap("forged", { ...ownedBy(owner), ...held }));
    await api.send("DELETE", `${configMaps}/owner?propagationPolicy=Foreground`);
    await api.gone(configMaps, "owner");
    expect((await api.get(`${elsewhere}/forged`)).metadata).toHaveProperty("deletionTimestamp");
  });

  test("are not removed when the owner orphans its dependents", async () => {
    await using api = await TestApi.start();
    await api.create("/api/v1/namespaces", { metadata: { name: "elsewhere" } });
    const owner = await api.create(configMaps, configMap("owner"));
    await api.create(elsewhere, configMap("forged", { ...ownedBy(owner), ...held }));
    await api.send("DELETE", `${configMaps}/owner?propagationPolicy=Orphan`);
    await api.gone(configMaps, "owner");
    expect((await api.get(`${elsewhere}/forged`)).metadata).toHaveProperty("ownerReferences");
  });
});
