import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, configMaps, pod, pods, sandbox, sandboxes, TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box" });
});
afterAll(() => api[Symbol.asyncDispose]());

describe("create", () => {
  test("sets the server's own metadata and ignores what the client sends for it", async () => {
    const created = await api.create(configMaps, {
      ...configMap("owned", {
        uid: "mine",
        generation: 7,
        selfLink: "/x",
        creationTimestamp: "2000-01-01T00:00:00Z",
        deletionTimestamp: "2000-01-01T00:00:00Z",
        managedFields: [{ manager: "x" }],
        labels: { a: "b" },
      }),
      data: { key: "value" },
    });
    expect(created).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "owned",
        namespace: "default",
        uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/),
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels: { a: "b" },
        managedFields: [expect.objectContaining({ manager: "unknown", operation: "Update" })],
      },
      data: { key: "value" },
    });
    expect(await api.get(`${configMaps}/owned`)).toEqual(created);
  });

  test("sets a Pod's defaults and binds it to the box's node", async () => {
    const created = await api.create(pods, pod("defaults"));
    expect(created).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        nodeName: "box",
        restartPolicy: "Always",
        dnsPolicy: "ClusterFirst",
        terminationGracePeriodSeconds: 30,
        containers: [
          {
            name: "main",
            image: "busybox:1",
            imagePullPolicy: "IfNotPresent",
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
            resources: {},
          },
        ],
      },
      status: { phase: "Pending", qosClass: "BestEffort" },
    });
  });

  test("does not change the node of a Pod that names one", async () => {
    const bound = { ...pod("bound"), spec: { nodeName: "other", containers: [{ name: "a", image: "b" }] } };
    expect(await api.create(pods, bound)).toMatchObject({ spec: { nodeName: "other" } });
  });

  test("generates names of at most 63 characters", async () => {
    const made = await api.create(configMaps, { metadata: { generateName: `${"x".repeat(70)}-` } });
    expect(made.metadata.name).toMatch(/^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test("accepts a body without apiVersion and kind", async () => {
    expect(await api.create(configMaps, { metadata: { name: "bare" } })).toMatchObject({
      apiVersion: "v1",
      kind: "ConfigMap",
    });
  });

  test("does not store the result of a dry run", async () => {
    const { status, body } = await api.send("POST", `${configMaps}?dryRun=All`, configMap("dry"));
    expect(status).toBe(201);
    expect(body.metadata.uid).toBeTypeOf("string");
    expect(body.metadata).not.toHaveProperty("resourceVersion");
    expect((await api.send("GET", `${configMaps}/dry`)).status).toBe(404);
  });

  test("ignores the status of kinds with a status subresource", async () => {
    const body = { ...sandbox("with-status"), status: { serviceFQDN: "x" } };
    expect(await api.create(sandboxes, body)).not.toHaveProperty("status");
  });

  test("stores a copy, so that the caller cannot change the stored object", async () => {
    const body = { metadata: { name: "mine" }, data: { key: "before" } };
    await api.create(configMaps, body);
    body.data.key = "after";
    expect(await api.get(`${configMaps}/mine`)).toMatchObject({ data: { key: "before" } });
  });

  test.for([
    ["an existing name", 409, "AlreadyExists", configMaps, configMap("owned")],
    ["an unknown namespace", 404, "NotFound", "/api/v1/namespaces/nowhere/configmaps", configMap("a")],
    ["another kind", 400, "BadRequest", configMaps, pod("a")],
    ["another namespace", 400, "BadRequest", configMaps, configMap("a", { namespace: "kube-system" })],
    ["a resourceVersion", 400, "BadRequest", configMaps, configMap("a", { resourceVersion: "1" })],
    ["no namespace", 400, "BadRequest", "/api/v1/configmaps", configMap("a")],
    ["an array", 400, "BadRequest", configMaps, []],
    ["nothing", 400, "BadRequest", configMaps, undefined],
    ["an unknown resource", 404, "NotFound", "/api/v1/namespaces/default/widgets", configMap("a")],
  ] as const)("refuses %s", async ([, code, reason, path, body]) => {
    const answer = await api.send("POST", path, body);
    expect(answer).toMatchObject({ status: code, body: { kind: "Status", status: "Failure", code, reason } });
  });

  test.for([
    ["metadata.name", {}],
    ["metadata.name", { name: "Upper" }],
    ["metadata.name", { name: "a/b" }],
    ["metadata.labels", { name: "a", labels: { "bad key": "x" } }],
    ["metadata.annotations", { name: "a", annotations: { a: "x".repeat(300_000) } }],
    ["metadata.ownerReferences.uid", { name: "a", ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x" }] }],
  ] as const)("reports the field %s of invalid metadata %j", async ([field, metadata]) => {
    const answer = await api.send("POST", configMaps, { metadata });
    expect(answer.status).toBe(422);
    expect(answer.body.details.causes.map((cause: { field: string }) => cause.field)).toContain(field);
  });

  test.for([
    ["spec.containers", undefined],
    ["spec.containers", {}],
    ["spec.containers", { containers: [] }],
    ["spec.containers[0].name", { containers: [{ image: "x" }] }],
    ["spec.containers[0].name", { containers: [{ name: "Not A Label", image: "x" }] }],
    ["spec.containers[0].image", { containers: [{ name: "a" }] }],
    [
      "spec.containers[1].name",
      {
        containers: [
          { name: "a", image: "b" },
          { name: "a", image: "c" },
        ],
      },
    ],
    ["spec.restartPolicy", { containers: [{ name: "a", image: "b" }], restartPolicy: "Sometimes" }],
    ["spec.volumes[0].name", { containers: [{ name: "a", image: "b" }], volumes: [{ name: "A_B", emptyDir: {} }] }],
    [
      "spec.containers[0].resources.limits[memory]",
      { containers: [{ name: "a", image: "b", resources: { limits: { memory: "-1Gi" } } }] },
    ],
  ] as const)("reports the field %s of an invalid Pod %j", async ([field, spec]) => {
    const answer = await api.send("POST", pods, { metadata: { name: "bad" }, spec });
    expect(answer.status).toBe(422);
    expect(answer.body.details.causes.map((cause: { field: string }) => cause.field)).toContain(field);
    expect((await api.send("GET", `${pods}/bad`)).status).toBe(404);
  });

  const container = { name: "a", image: "b" };
  test.for<[string, object]>([
    ["metadata.name", { metadata: { name: 5 } }],
    ["metadata.generateName", { metadata: { generateName: ["x"] } }],
    ["metadata.labels", { metadata: { name: "bad", labels: [] } }],
    ["metadata.labels.a", { metadata: { name: "bad", labels: { a: 1 } } }],
    ["metadata.annotations.a", { metadata: { name: "bad", annotations: { a: {} } } }],
    ["metadata.finalizers[0]", { metadata: { name: "bad", finalizers: [1] } }],
    ["spec", { spec: "text" }],
    ["spec.containers", { spec: { containers: "x" } }],
    ["spec.containers[0].command", { spec: { containers: [{ ...container, command: "sh" }] } }],
    ["spec.containers[0].env[0].value", { spec: { containers: [{ ...container, env: [{ name: "A", value: 1 }] }] } }],
    ["spec.terminationGracePeriodSeconds", { spec: { containers: [container], terminationGracePeriodSeconds: "9" } }],
    [
      "spec.containers[0].resources.limits[cpu]",
      { spec: { containers: [{ ...container, resources: { limits: { cpu: "much" } } }] } },
    ],
  ])("cannot read the field %s of %j", async ([field, body]) => {
    const answer = await api.send("POST", pods, { ...pod("bad"), ...body });
    expect(answer).toMatchObject({ status: 400, body: { reason: "BadRequest" } });
    expect(answer.body.message).toContain(`Pod in version "v1" cannot be handled as a Pod: ${field}: Invalid value`);
    expect((await api.send("GET", `${pods}/bad`)).status).toBe(404);
  });

  test("reports unknown fields as an error, a warning or not at all, depending on fieldValidation", async () => {
    const body = { ...sandbox("unknown", { operatingMod: "Running" }), extra: 1 };
    const strict = await api.send("POST", `${sandboxes}?fieldValidation=Strict`, body);
    expect(strict).toMatchObject({ status: 400, body: { reason: "BadRequest" } });
    expect(strict.body.message).toContain(
      'Sandbox in version "v1beta1" cannot be handled as a Sandbox: strict decoding error: unknown field "extra", unknown field "spec.operatingMod"',
    );
    const warned = await api.send("POST", `${sandboxes}?dryRun=All`, body);
    expect(warned.headers["warning"]).toContain('unknown field \\"spec.operatingMod\\"');
    expect(warned.body.spec).not.toHaveProperty("operatingMod");
    const ignored = await api.send("POST", `${sandboxes}?dryRun=All&fieldValidation=Ignore`, body);
    expect(ignored.headers).not.toHaveProperty("warning");
    expect((await api.send("POST", `${sandboxes}?fieldValidation=Loud`, body)).status).toBe(422);
  });
});
