import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Answer,
  configMap,
  configMaps,
  pod,
  pods,
  sandbox,
  sandboxes,
  TestApi,
} from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box" });
});
afterAll(() => api[Symbol.asyncDispose]());

const withData = (name: string, data: object): object => ({ ...configMap(name), data });

/** `manager operation: fields`, without what every entry has. */
function owners({ body }: Answer): Record<string, unknown> {
  const entries: { manager: string; operation: string; subresource?: string; fieldsV1: unknown }[] =
    body.metadata.managedFields ?? [];
  return Object.fromEntries(
    entries.map(({ manager, operation, subresource, fieldsV1 }) => [
      [manager, operation, ...(subresource === undefined ? [] : [subresource])].join(" "),
      fieldsV1,
    ]),
  );
}

describe("apply", () => {
  test("creates a missing object", async () => {
    const answer = await api.apply(`${configMaps}/fresh`, "alice", withData("fresh", { a: "1" }));
    expect(answer).toMatchObject({ status: 201, body: { data: { a: "1" }, metadata: { namespace: "default" } } });
    expect(answer.body.metadata.managedFields).toEqual([
      {
        manager: "alice",
        operation: "Apply",
        apiVersion: "v1",
        time: "2026-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:a": {} } },
      },
    ]);
    expect(await api.get(`${configMaps}/fresh`)).toEqual(answer.body);
  });

  test("checks the resourceVersion of an existing object, and ignores it for a missing one", async () => {
    const config = { ...configMap("guarded", { resourceVersion: "1" }), data: { a: "1" } };
    expect((await api.apply(`${configMaps}/guarded`, "alice", config)).status).toBe(201);
    const again = await api.apply(`${configMaps}/guarded`, "alice", { ...config, data: { a: "2" } });
    expect(again).toMatchObject({ status: 409, body: { reason: "Conflict" } });
  });

  test("does not write when the same configuration is applied again later", async () => {
    const path = `${pods}/repeated`;
    const first = await api.apply(path, "alice", pod("repeated"));
    api.clock.atMs += 60_000;
    const again = await api.apply(path, "alice", pod("repeated"));
    expect(again).toEqual({ ...first, status: 200 });
  });

  test("reports every field that another manager owns as a conflict, and changes nothing", async () => {
    const path = `${configMaps}/contested`;
    const { body: before } = await api.apply(path, "alice", withData("contested", { a: "1", b: "2" }));
    const one = await api.apply(path, "bob", withData("contested", { a: "x", c: "3" }));
    expect(one).toMatchObject({
      status: 409,
      body: {
        reason: "Conflict",
        message: 'Apply failed with 1 conflict: conflict with "alice": .data.a',
        details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "alice"', field: ".data.a" }] },
      },
    });
    const two = await api.apply(path, "bob", withData("contested", { a: "x", b: "y" }));
    expect(two.body.message).toBe('Apply failed with 2 conflicts: conflicts with "alice":\n- .data.a\n- .data.b');
    expect(await api.get(path)).toEqual(before);
  });

  test("takes over fields of other managers when forced, and shares fields with equal values", async () => {
    const path = `${configMaps}/forced`;
    await api.apply(path, "alice", withData("forced", { a: "1", b: "2" }));
    const shared = await api.apply(path, "bob", withData("forced", { b: "2" }));
    expect(shared.status).toBe(200);
    const forced = await api.apply(`${path}?force=true`, "bob", withData("forced", { a: "x", b: "2" }));
    expect(forced.body.data).toEqual({ a: "x", b: "2" });
    expect(owners(forced)).toEqual({
      "alice Apply": { "f:data": { "f:b": {} } },
      "bob Apply": { "f:data": { "f:a": {}, "f:b": {} } },
    });
  });

  test("removes fields that the manager no longer applies, unless another manager owns them", async () => {
    const path = `${configMaps}/shrunk`;
    await api.apply(path, "alice", withData("shrunk", { a: "1", b: "2", c: "3" }));
    await api.apply(path, "bob", withData("shrunk", { b: "2" }));
    const { body } = await api.apply(path, "alice", withData("shrunk", { c: "3" }));
    expect(body.data).toEqual({ b: "2", c: "3" });
    const emptied = await api.apply(path, "alice", configMap("shrunk"));
    expect(emptied.body.data).toEqual({ b: "2" });
    expect(owners(emptied)).toEqual({ "bob Apply": { "f:data": { "f:b": {} } } });
  });

  test("resets fields of a Pod that are no longer applied to their defaults", async () => {
    const path = `${pods}/defaulted`;
    const limited = (deadline: object): object => ({
      ...pod("defaulted"),
      spec: { containers: [{ name: "main", image: "busybox:1" }], ...deadline },
    });
    await api.apply(path, "alice", limited({ activeDeadlineSeconds: 60 }));
    const { body } = await api.apply(path, "alice", limited({ activeDeadlineSeconds: 50 }));
    expect(body.spec).toMatchObject({ activeDeadlineSeconds: 50, restartPolicy: "Always" });
    expect(body.metadata.generation).toBe(2);
  });

  test("tracks the items of a Pod's lists by their keys", async () => {
    const config = {
      ...pod("divided"),
      spec: { containers: [{ name: "main", image: "busybox:1", ports: [{ containerPort: 80 }] }] },
    };
    const applied = await api.apply(`${pods}/divided`, "alice", config);
    expect(owners(applied)).toEqual({
      "alice Apply": {
        "f:spec": {
          "f:containers": {
            'k:{"name":"main"}': {
              ".": {},
              "f:name": {},
              "f:image": {},
              "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
            },
          },
        },
      },
    });
  });

  test("changes the status only through the status subresource", async () => {
    const path = `${sandboxes}/parts`;
    const config = { ...sandbox("parts"), status: { serviceFQDN: "ignored" } };
    const created = await api.apply(path, "alice", config);
    expect(created.body).not.toHaveProperty("status");
    expect(owners(created)).toEqual({
      "alice Apply": {
        "f:spec": {
          "f:podTemplate": {
            "f:spec": { "f:containers": { 'k:{"name":"main"}': { ".": {}, "f:name": {}, "f:image": {} } } },
          },
        },
      },
    });
    const status = { ...sandbox("parts", { shutdownPolicy: "Delete" }), status: { serviceFQDN: "a.b" } };
    const applied = await api.apply(`${path}/status`, "alice", status);
    expect(applied.body).toMatchObject({ status: { serviceFQDN: "a.b" }, metadata: { generation: 1 } });
    expect(applied.body.spec).toEqual(created.body.spec);
    expect(owners(applied)).toEqual({
      ...owners(created),
      "alice Apply status": { "f:status": { "f:serviceFQDN": {} } },
    });
    const again = await api.apply(`${path}/status`, "alice", status);
    expect(again).toEqual(applied);
  });

  test("recognizes a manager that applies in another version", async () => {
    const older = "/apis/agents.x-k8s.io/v1alpha1/namespaces/default/sandboxes";
    const spec = { podTemplate: { spec: { containers: [{ name: "main", image: "busybox:1" }] } } };
    const old = {
      apiVersion: "agents.x-k8s.io/v1alpha1",
      kind: "Sandbox",
      metadata: { name: "versions" },
      spec: { ...spec, replicas: 1 },
    };
    const first = await api.apply(`${older}/versions`, "alice", old);
    expect(first).toMatchObject({ status: 201, body: { apiVersion: "agents.x-k8s.io/v1alpha1" } });
    expect(first.body.metadata.managedFields).toMatchObject([{ apiVersion: "agents.x-k8s.io/v1alpha1" }]);
    const newer = { ...sandbox("versions"), spec: { ...spec, operatingMode: "Running" } };
    const second = await api.apply(`${sandboxes}/versions`, "alice", newer);
    expect(second.status).toBe(200);
    expect(second.body.metadata.managedFields).toMatchObject([
      { manager: "alice", apiVersion: "agents.x-k8s.io/v1beta1" },
    ]);
    const other = await api.apply(`${older}/versions`, "bob", { ...old, spec: { ...spec, replicas: 0 } });
    expect(other.status).toBe(409);
    expect(other.body.message).toContain('conflict with "alice": .spec.operatingMode');
  });

  test("does not store the result of a dry run", async () => {
    const path = `${configMaps}/dry-apply`;
    const dry = await api.apply(`${path}?dryRun=All`, "alice", withData("dry-apply", { a: "1" }));
    expect(dry).toMatchObject({ status: 201, body: { data: { a: "1" } } });
    expect((await api.send("GET", path)).status).toBe(404);
    const { body: before } = await api.apply(path, "alice", withData("dry-apply", { a: "1" }));
    const changed = await api.apply(`${path}?dryRun=All`, "alice", withData("dry-apply", { a: "2" }));
    expect(changed.body.data).toEqual({ a: "2" });
    expect(await api.get(path)).toEqual(before);
  });

  test.for([
    [
      "no manager",
      422,
      "",
      configMap("bad"),
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
    [
      "a manager name that is too long",
      422,
      "x".repeat(129),
      configMap("bad"),
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    ],
    ["a list", 400, "a", [], "a configuration to apply must be an object"],
    ["no version", 400, "a", { kind: "ConfigMap" }, "invalid object type: /, Kind=ConfigMap"],
    ["managedFields", 400, "a", configMap("bad", { managedFields: [] }), "metadata.managedFields must be nil"],
    [
      "an unknown field",
      400,
      "a",
      { ...configMap("bad"), extra: 1 },
      "failed to create typed patch object (default/bad; /v1, Kind=ConfigMap): .extra: field not declared in schema",
    ],
    [
      "a UID for a missing object",
      409,
      "a",
      configMap("bad", { uid: "u" }),
      'Operation cannot be fulfilled on configmaps "bad": uid mismatch: the provided object specified uid u, and no existing object was found',
    ],
  ] as const)("refuses %s", async ([, status, manager, config, message]) => {
    const answer = await api.apply(`${configMaps}/bad`, manager, config);
    expect({ status: answer.status, message: answer.body.message }).toEqual({ status, message });
    expect((await api.send("GET", `${configMaps}/bad`)).status).toBe(404);
  });

  test("does not create an object through a subresource", async () => {
    expect((await api.apply(`${sandboxes}/absent/status`, "a", sandbox("absent"))).status).toBe(404);
  });

  test("requires the verb create when the object does not exist", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["patch"] }];
    await api.create(`${rbac}/roles`, { metadata: { name: "patcher" }, rules });
    await api.create(`${rbac}/rolebindings`, {
      metadata: { name: "patcher" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "patcher" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "pat" }],
    });
    await api.create(configMaps, configMap("existing"));
    const as = api.server.transportAs({ user: "pat", groups: ["system:authenticated"] });
    const apply = async (name: string): Promise<number> => {
      const headers = { "content-type": "application/apply-patch+yaml" };
      const path = `${configMaps}/${name}?fieldManager=pat`;
      return (await as.send({ method: "PATCH", path, headers, body: configMap(name, { labels: { a: "b" } }) })).status;
    };
    expect([await apply("existing"), await apply("not-existing")]).toEqual([200, 403]);
  });
});
