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
  test("deletes what an owner leaves behind, down to the last generation", async () => {
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

  test("spares the dependents of what asks for that itself", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(sandboxes, sandbox("owner"));
    const child = await api.create(pods, pod("child", { ...ownedBy(owner), finalizers: ["orphan"] }));
    await api.create(configMaps, configMap("grandchild", ownedBy(child)));
    await api.send("DELETE", `${sandboxes}/owner`);
    await api.gone(pods, "child");
    expect((await api.get(`${configMaps}/grandchild`)).metadata).not.toHaveProperty("ownerReferences");
  });

  test("deletes what somebody else is changing all the while", async () => {
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

  test("goes by UID: an owner that was made again is another one", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(configMaps, configMap("owner"));
    await api.send("DELETE", `${configMaps}/owner`);
    await api.create(configMaps, configMap("owner"));
    await api.create(pods, pod("late", ownedBy(owner)));
    await api.gone(pods, "late");
    expect(await api.names(configMaps)).toEqual(["owner"]);
  });

  test("keeps what has another owner, and forgets the one that is gone", async () => {
    await using api = await TestApi.start();
    const gone = await api.create(configMaps, configMap("gone"));
    const kept = await api.create(configMaps, configMap("kept"));
    const child = await api.create(pods, pod("child", ownedBy(gone, kept)));
    const watching = await api.watch(`${pods}?watch=true&resourceVersion=${child.metadata.resourceVersion}`);
    await api.send("DELETE", `${configMaps}/gone`);
    const { object } = await watching.next();
    expect(object.metadata["ownerReferences"]).toEqual([expect.objectContaining({ uid: kept.metadata.uid })]);
  });

  test("does not take an owner in another namespace for one", async () => {
    await using api = await TestApi.start();
    const owner = await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("far"));
    await api.create(pods, pod("child", ownedBy(owner)));
    await api.gone(pods, "child");
    expect(await api.names("/api/v1/configmaps")).toEqual(["far"]);
  });

  test("orphans when asked to", async () => {
    await using api = await TestApi.start();
    const owner = await api.create(configMaps, configMap("owner"));
    await api.create(pods, pod("child", ownedBy(owner)));
    await api.send("DELETE", `${configMaps}/owner`, { propagationPolicy: "Orphan" });
    await api.gone(configMaps, "owner");
    expect((await api.get(`${pods}/child`)).metadata).not.toHaveProperty("ownerReferences");
  });

  test("deletes dependents first when asked to", async () => {
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
  test("can be cut short by who takes the finalizer off a namespace that is stuck", async () => {
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

  test("empties the namespace, waits for what needs time, then lets it go", async () => {
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

  test("lets an empty one go at once, and the permanent ones never", async () => {
    await using api = await TestApi.start();
    await api.create("/api/v1/namespaces", { metadata: { name: "empty" } });
    await api.send("DELETE", "/api/v1/namespaces/empty");
    await api.gone("/api/v1/namespaces", "empty");
    expect(await api.send("DELETE", "/api/v1/namespaces/default")).toMatchObject({
      status: 403,
      body: { reason: "Forbidden" },
    });
  });

  test("makes the namespaces everybody counts on", async () => {
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

  test("do not hold up a deletion that waits for dependents", async () => {
    await using api = await TestApi.start();
    await api.create("/api/v1/namespaces", { metadata: { name: "elsewhere" } });
    const owner = await api.create(configMaps, configMap("owner"));
    await api.create(elsewhere, configMap("forged", { ...ownedBy(owner), ...held }));
    await api.send("DELETE", `${configMaps}/owner?propagationPolicy=Foreground`);
    await api.gone(configMaps, "owner");
    expect((await api.get(`${elsewhere}/forged`)).metadata).toHaveProperty("deletionTimestamp");
  });

  test("are not touched when the owner leaves its dependents behind", async () => {
    await using api = await TestApi.start();
    await api.create("/api/v1/namespaces", { metadata: { name: "elsewhere" } });
    const owner = await api.create(configMaps, configMap("owner"));
    await api.create(elsewhere, configMap("forged", { ...ownedBy(owner), ...held }));
    await api.send("DELETE", `${configMaps}/owner?propagationPolicy=Orphan`);
    await api.gone(configMaps, "owner");
    expect((await api.get(`${elsewhere}/forged`)).metadata).toHaveProperty("ownerReferences");
  });
});
