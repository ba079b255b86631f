import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, configMaps, pod, pods, sandbox, sandboxes, TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

describe("update", () => {
  test("replaces the object and keeps the server's own metadata", async () => {
    const old = await api.create(configMaps, {
      ...configMap("replaced", { labels: { a: "1" } }),
      data: { a: "1", b: "2" },
    });
    const body = {
      ...old,
      metadata: { ...old.metadata, labels: { b: "2" }, creationTimestamp: "2000-01-01T00:00:00Z" },
      data: { a: "3" },
    };
    const { status, body: updated } = await api.send("PUT", `${configMaps}/replaced`, body);
    expect(status).toBe(200);
    expect(updated.data).toEqual({ a: "3" });
    expect(updated.metadata).toEqual({
      ...old.metadata,
      labels: { b: "2" },
      managedFields: [
        expect.objectContaining({
          manager: "unknown",
          fieldsV1: { "f:data": { ".": {}, "f:a": {} }, "f:metadata": { "f:labels": { ".": {}, "f:b": {} } } },
        }),
      ],
      resourceVersion: updated.metadata.resourceVersion,
    });
    expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(Number(old.metadata.resourceVersion));
  });

  test("refuses a stale resourceVersion", async () => {
    const old = await api.create(configMaps, configMap("stale"));
    await api.merge(`${configMaps}/stale`, { data: { a: "1" } });
    const answer = await api.send("PUT", `${configMaps}/stale`, { ...old, data: { a: "2" } });
    expect(answer).toMatchObject({
      status: 409,
      body: { reason: "Conflict", details: { name: "stale", kind: "configmaps" } },
    });
    expect(await api.get(`${configMaps}/stale`)).toMatchObject({ data: { a: "1" } });
  });

  test("refuses another UID", async () => {
    await api.create(configMaps, configMap("uid"));
    const answer = await api.send("PUT", `${configMaps}/uid`, configMap("uid", { uid: "other" }));
    expect(answer).toMatchObject({ status: 409, body: { reason: "Conflict" } });
  });

  test("creates a missing object only of kinds that allow it", async () => {
    const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const lease = { metadata: { name: "new" }, spec: { holderIdentity: "a" } };
    expect((await api.send("PUT", `${leases}/new?dryRun=All`, lease)).status).toBe(201);
    expect(await api.send("PUT", `${leases}/new`, lease)).toMatchObject({ status: 201, body: { spec: lease.spec } });
    const meant = { ...lease, metadata: { name: "other", uid: "some" } };
    expect(await api.send("PUT", `${leases}/other`, meant)).toMatchObject({
      status: 409,
      body: { reason: "Conflict" },
    });
    expect((await api.send("PUT", `${configMaps}/new`, configMap("new"))).status).toBe(404);
  });

  test("requires the name in the body", async () => {
    await api.create(configMaps, configMap("unnamed"));
    const answer = await api.send("PUT", `${configMaps}/unnamed`, { data: { a: "1" } });
    expect(answer).toMatchObject({ status: 400, body: { reason: "BadRequest" } });
    expect(await api.get(`${configMaps}/unnamed`)).not.toHaveProperty("data");
  });

  test("requires the resourceVersion for custom resources, but not for built-in kinds", async () => {
    await api.create(configMaps, configMap("unconditional"));
    await api.create(sandboxes, sandbox("unconditional"));
    expect((await api.send("PUT", `${configMaps}/unconditional`, configMap("unconditional"))).status).toBe(200);
    const answer = await api.send("PUT", `${sandboxes}/unconditional`, sandbox("unconditional"));
    expect(answer).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: "metadata.resourceVersion" }] } },
    });
  });

  test("does not write when nothing changes", async () => {
    const old = await api.create(pods, pod("unchanged"));
    const put = await api.send("PUT", `${pods}/unchanged`, old);
    const merged = await api.merge(`${pods}/unchanged`, { metadata: { labels: null } });
    const status = await api.merge(`${pods}/unchanged/status`, { status: { phase: "Pending" } });
    for (const { body } of [put, merged, status])
      expect(body.metadata.resourceVersion).toBe(old.metadata.resourceVersion);
  });

  test("refuses a name other than that of the path, and missing objects", async () => {
    await api.create(configMaps, configMap("named"));
    expect((await api.send("PUT", `${configMaps}/named`, configMap("other"))).status).toBe(400);
    expect((await api.send("PUT", `${configMaps}/absent`, configMap("absent"))).status).toBe(404);
  });

  test("accepts one of several concurrent writes of the same revision", async () => {
    const old = await api.create(configMaps, configMap("raced"));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        api.send("PUT", `${configMaps}/raced`, { ...old, data: { at: String(at) } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
  });

  test("lets the image of a Pod change, but not the rest of its spec", async () => {
    const old = await api.create(pods, pod("fixed"));
    const changed = await api.json(`${pods}/fixed`, [{ op: "replace", path: "/spec/restartPolicy", value: "Never" }]);
    expect(changed).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: "spec", reason: "FieldValueForbidden" }] } },
    });
    const image = await api.json(`${pods}/fixed`, [
      { op: "replace", path: "/spec/containers/0/image", value: "busybox:2" },
    ]);
    expect(image).toMatchObject({ status: 200, body: { metadata: { generation: 2, uid: old.metadata.uid } } });
  });
});

describe("status and generation", () => {
  test("the object's endpoint ignores the status, and the status endpoint changes nothing else", async () => {
    await api.create(sandboxes, sandbox("parts"));
    const main = await api.merge(`${sandboxes}/parts`, {
      spec: { shutdownPolicy: "Delete" },
      status: { serviceFQDN: "x" },
    });
    expect(main.body).not.toHaveProperty("status");
    expect(main.body.metadata.generation).toBe(2);
    const status = await api.merge(`${sandboxes}/parts/status`, {
      metadata: { labels: { a: "b" } },
      spec: { shutdownPolicy: "Retain" },
      status: { serviceFQDN: "y" },
    });
    expect(status.body).toMatchObject({
      spec: { shutdownPolicy: "Delete" },
      status: { serviceFQDN: "y" },
      metadata: { generation: 2 },
    });
    expect(status.body.metadata).not.toHaveProperty("labels");
  });

  test("a change of metadata alone does not increase the generation", async () => {
    await api.create(sandboxes, sandbox("labelled"));
    const { body } = await api.merge(`${sandboxes}/labelled`, { metadata: { labels: { a: "b" } } });
    expect(body.metadata).toMatchObject({ generation: 1, labels: { a: "b" } });
  });

  test("kinds without a status subresource answer 404 for it", async () => {
    await api.create(configMaps, configMap("plain"));
    expect((await api.merge(`${configMaps}/plain/status`, {})).status).toBe(404);
    const templates = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxtemplates";
    expect((await api.send("GET", `${templates}/any/status`)).status).toBe(404);
  });
});

describe("patch", () => {
  test("merges members and removes those that are null", async () => {
    await api.create(configMaps, { ...configMap("merged"), data: { a: "1", b: "2" } });
    const { body } = await api.merge(`${configMaps}/merged`, { data: { a: null, c: "3" } });
    expect(body.data).toEqual({ b: "2", c: "3" });
  });

  test.for([
    ["uid", { uid: "other" }],
    ["resourceVersion", { resourceVersion: "1" }],
  ])("treats metadata.%s in the patch as a precondition", async ([, metadata]) => {
    const name = `guarded-${Object.keys(metadata as object)[0]?.toLowerCase()}`;
    await api.create(configMaps, configMap(name));
    const answer = await api.merge(`${configMaps}/${name}`, { metadata, data: { a: "1" } });
    expect(answer).toMatchObject({ status: 409, body: { reason: "Conflict" } });
    expect(await api.get(`${configMaps}/${name}`)).not.toHaveProperty("data");
  });

  test("accepts all concurrent patches without preconditions", async () => {
    await api.create(configMaps, configMap("counted"));
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => api.merge(`${configMaps}/counted`, { data: { [`k${at}`]: "x" } })),
    );
    expect(Object.keys((await api.get(`${configMaps}/counted`))["data"] as object)).toHaveLength(20);
  });

  test.for([
    ["an apply in CBOR", "application/apply-patch+cbor", {}, 415],
    ["no type", "", {}, 415],
    ["a strategic merge patch that is a list", "application/strategic-merge-patch+json", [], 400],
    ["an unknown directive", "application/strategic-merge-patch+json", { $patch: "turn" }, 400],
    ["a merge patch that is a list", "application/merge-patch+json", [], 400],
    ["a JSON patch that is an object", "application/json-patch+json", {}, 400],
    [
      "too many operations",
      "application/json-patch+json",
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "" })),
      413,
    ],
    ["a failed test", "application/json-patch+json", [{ op: "test", path: "/kind", value: "Pod" }], 422],
    ["a new kind", "application/merge-patch+json", { kind: "Pod" }, 400],
    ["a new name", "application/merge-patch+json", { metadata: { name: "other" } }, 400],
    [
      "a patch that makes the object a number",
      "application/json-patch+json",
      [{ op: "replace", path: "", value: 5 }],
      400,
    ],
    ["wrong types", "application/merge-patch+json", { data: { a: 1 } }, 422],
  ] as const)("refuses %s", async ([, contentType, body, status]) => {
    await api.send("POST", configMaps, configMap("refused"));
    const answer = await api.send("PATCH", `${configMaps}/refused`, body, { "content-type": contentType });
    expect(answer).toMatchObject({ status, body: { kind: "Status", code: status } });
  });

  test("merges lists of built-in kinds by their keys in a strategic merge patch", async () => {
    await api.create(pods, pod("strategic", { finalizers: ["example.com/a"] }));
    const { status, body } = await api.strategic(`${pods}/strategic`, {
      metadata: { finalizers: ["example.com/b"] },
      spec: { containers: [{ name: "main", image: "busybox:2" }] },
    });
    expect(status).toBe(200);
    expect(body.metadata.finalizers).toEqual(["example.com/b", "example.com/a"]);
    expect(body.spec.containers).toMatchObject([{ name: "main", image: "busybox:2", imagePullPolicy: "IfNotPresent" }]);
    const deleted = await api.strategic(`${pods}/strategic`, {
      metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] },
    });
    expect(deleted.body.metadata.finalizers).toEqual(["example.com/b"]);
  });

  test("refuses a strategic merge patch of a custom resource", async () => {
    await api.create(sandboxes, sandbox("strategic"));
    const { status, body } = await api.strategic(`${sandboxes}/strategic`, { spec: {} });
    expect({ status, message: body.message }).toEqual({
      status: 415,
      message:
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    });
  });

  test("does not store the result of a dry run", async () => {
    const old = await api.create(configMaps, configMap("dry-patch"));
    const { body } = await api.send(
      "PATCH",
      `${configMaps}/dry-patch?dryRun=All`,
      { data: { a: "1" } },
      { "content-type": "application/merge-patch+json" },
    );
    expect(body.data).toEqual({ a: "1" });
    expect(await api.get(`${configMaps}/dry-patch`)).toEqual(old);
  });
});

describe("the status of a Sandbox", () => {
  test("cannot be written through an annotation of the older version", async () => {
    const older = "/apis/agents.x-k8s.io/v1alpha1/namespaces/default/sandboxes";
    const state = JSON.stringify({ status: { suspension: { depth: "Memory", epoch: 7 }, nodeName: "elsewhere" } });
    const annotations = { "api.agents.x-k8s.io/v1beta1-sandbox-state": state };
    const metadata = { name: "forged", annotations };
    await api.create(older, { ...sandbox("forged"), apiVersion: "agents.x-k8s.io/v1alpha1", metadata });
    expect(await api.get(`${sandboxes}/forged`)).not.toHaveProperty("status");
    await api.merge(`${sandboxes}/forged/status`, { status: { nodeName: "here", suspension: { epoch: 1 } } });
    await api.merge(`${older}/forged`, { metadata: { annotations, labels: { a: "b" } } });
    expect(await api.get(`${sandboxes}/forged`)).toMatchObject({
      metadata: { labels: { a: "b" } },
      status: { nodeName: "here", suspension: { epoch: 1 } },
    });
  });
});
