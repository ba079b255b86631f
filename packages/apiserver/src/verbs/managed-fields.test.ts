import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, configMaps, pod, pods, sandbox, sandboxes, TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box" });
});
afterAll(() => api[Symbol.asyncDispose]());

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  readonly time: string;
  readonly fieldsV1: unknown;
}

const entriesOf = ({ metadata }: { metadata: Record<string, unknown> }): Entry[] =>
  (metadata["managedFields"] ?? []) as Entry[];

const merge = { "content-type": "application/merge-patch+json" };

describe("managedFields", () => {
  test("records the creator by its fieldManager or its user agent", async () => {
    const named = await api.create(`${configMaps}?fieldManager=alice`, { ...configMap("named"), data: { a: "1" } });
    expect(entriesOf(named)).toEqual([
      {
        manager: "alice",
        operation: "Update",
        apiVersion: "v1",
        time: "2026-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { ".": {}, "f:a": {} } },
      },
    ]);
    const agent = await api.send(
      "POST",
      configMaps,
      { ...configMap("agent"), data: { a: "1" } },
      { "user-agent": "tool/1.2 (linux)" },
    );
    expect(entriesOf(agent.body)).toMatchObject([{ manager: "tool" }]);
  });

  test("makes the creator of a Pod the owner of its defaults, but not of fields that the server sets", async () => {
    const created = await api.create(`${pods}?fieldManager=alice`, pod("filled"));
    const container = [
      "image",
      "imagePullPolicy",
      "name",
      "resources",
      "terminationMessagePath",
      "terminationMessagePolicy",
    ];
    const fields = [
      "dnsPolicy",
      "enableServiceLinks",
      "restartPolicy",
      "schedulerName",
      "securityContext",
      "terminationGracePeriodSeconds",
    ];
    const leaves = (names: string[]): object => Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
    expect(entriesOf(created).map(({ fieldsV1 }) => fieldsV1)).toEqual([
      { "f:spec": { "f:containers": { 'k:{"name":"main"}': { ".": {}, ...leaves(container) } }, ...leaves(fields) } },
    ]);
    expect(created.spec).toMatchObject({ nodeName: "box", serviceAccountName: "default" });
  });

  test("makes the writer of an update or patch the owner of the fields that it changes", async () => {
    const path = `${configMaps}/moved`;
    const old = await api.create(`${configMaps}?fieldManager=alice`, {
      ...configMap("moved"),
      data: { a: "1", b: "1", c: "1", d: "1" },
    });
    await api.send("PUT", `${path}?fieldManager=put`, { ...old, data: { ...(old["data"] as object), a: "2" } });
    await api.merge(`${path}?fieldManager=merge`, { data: { b: "2" } });
    await api.json(`${path}?fieldManager=json`, [{ op: "replace", path: "/data/c", value: "2" }]);
    const last = await api.strategic(`${path}?fieldManager=strategic`, { data: { d: "2" } });
    expect(Object.fromEntries(entriesOf(last.body).map(({ manager, fieldsV1 }) => [manager, fieldsV1]))).toEqual({
      alice: { "f:data": {} },
      put: { "f:data": { "f:a": {} } },
      merge: { "f:data": { "f:b": {} } },
      json: { "f:data": { "f:c": {} } },
      strategic: { "f:data": { "f:d": {} } },
    });
  });

  test("are kept when an update omits them", async () => {
    const old = await api.create(`${configMaps}?fieldManager=alice`, { ...configMap("kept"), data: { a: "1" } });
    const put = await api.send("PUT", `${configMaps}/kept?fieldManager=bob`, {
      ...configMap("kept"),
      data: { a: "1" },
    });
    expect(put.body).toEqual(old);
  });

  test("keep their times when a write changes nothing", async () => {
    const path = `${configMaps}/idle?fieldManager=alice`;
    const old = await api.create(`${configMaps}?fieldManager=alice`, { ...configMap("idle"), data: { a: "1" } });
    api.clock.atMs += 60_000;
    expect((await api.merge(path, { data: { a: "1" } })).body).toEqual(old);
    const changed = await api.merge(path, { data: { a: "2" } });
    expect(entriesOf(changed.body).map(({ time }) => time)).not.toEqual(entriesOf(old).map(({ time }) => time));
  });

  test("have a separate entry for writes to the status", async () => {
    await api.create(`${sandboxes}?fieldManager=alice`, sandbox("parts"));
    const { body } = await api.merge(`${sandboxes}/parts/status?fieldManager=alice`, { status: { serviceFQDN: "a" } });
    expect(entriesOf(body)).toMatchObject([
      { manager: "alice", operation: "Update" },
      {
        manager: "alice",
        operation: "Update",
        subresource: "status",
        fieldsV1: { "f:status": { ".": {}, "f:serviceFQDN": {} } },
      },
    ]);
    expect(entriesOf(body)[0]).not.toHaveProperty("subresource");
  });

  test("have a separate entry for writes to the scale", async () => {
    const pools = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxwarmpools";
    await api.create(`${pools}?fieldManager=alice`, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxWarmPool",
      metadata: { name: "scaled" },
      spec: { replicas: 1, sandboxTemplateRef: { name: "t" } },
    });
    await api.merge(`${pools}/scaled/scale?fieldManager=scaler`, { spec: { replicas: 3 } });
    expect(entriesOf(await api.get(`${pools}/scaled`))).toMatchObject([
      { manager: "alice", fieldsV1: { "f:spec": { "f:sandboxTemplateRef": { "f:name": {} } } } },
      { manager: "scaler", subresource: "scale", fieldsV1: { "f:spec": { "f:replicas": {} } } },
    ]);
  });

  test("name the version that each writer used", async () => {
    const older = "/apis/agents.x-k8s.io/v1alpha1/namespaces/default/sandboxes";
    await api.create(
      `${sandboxes}?fieldManager=alice`,
      sandbox("versions", { operatingMode: "Running", shutdownPolicy: "Delete" }),
    );
    const { body } = await api.merge(`${older}/versions?fieldManager=bob`, { spec: { replicas: 0 } });
    expect(entriesOf(body)).toMatchObject([
      { manager: "alice", apiVersion: "agents.x-k8s.io/v1beta1" },
      { manager: "bob", apiVersion: "agents.x-k8s.io/v1alpha1", fieldsV1: { "f:spec": { "f:replicas": {} } } },
    ]);
    expect(JSON.stringify(entriesOf(body)[0])).not.toContain("operatingMode");
    expect(JSON.stringify(entriesOf(body)[0])).toContain("f:shutdownPolicy");
    expect(entriesOf(await api.get(`${sandboxes}/versions`))).toEqual(entriesOf(body));
  });

  test("can be written by a client, and reset with an empty entry", async () => {
    const path = `${configMaps}/reset`;
    const old = await api.create(`${configMaps}?fieldManager=alice`, { ...configMap("reset"), data: { a: "1" } });
    const renamed = entriesOf(old).map((entry) => ({ ...entry, manager: "bob" }));
    expect(entriesOf((await api.merge(path, { metadata: { managedFields: renamed } })).body)).toEqual(renamed);
    const { body } = await api.merge(path, { metadata: { managedFields: [{}] } });
    expect(body.metadata).not.toHaveProperty("managedFields");
    expect(body.metadata.resourceVersion).not.toBe(old.metadata.resourceVersion);
    const later = await api.merge(path, { data: { a: "2" } });
    expect(later.body.metadata).not.toHaveProperty("managedFields");
  });

  test("are ignored when a client sends invalid ones", async () => {
    const old = await api.create(`${configMaps}?fieldManager=alice`, { ...configMap("unread"), data: { a: "1" } });
    const { body } = await api.merge(`${configMaps}/unread`, { metadata: { managedFields: [{ operation: "Guess" }] } });
    expect(body).toEqual(old);
  });

  test("are not stored by a dry run", async () => {
    const old = await api.create(`${configMaps}?fieldManager=alice`, { ...configMap("dry-owner"), data: { a: "1" } });
    const { body } = await api.send(
      "PATCH",
      `${configMaps}/dry-owner?dryRun=All&fieldManager=bob`,
      { data: { a: "2" } },
      merge,
    );
    expect(entriesOf(body).map(({ manager }) => manager)).toEqual(["alice", "bob"]);
    expect(await api.get(`${configMaps}/dry-owner`)).toEqual(old);
  });

  test.for([
    [
      "POST",
      configMaps,
      "fieldManager=%07",
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "\\u0007": invalid character U+0007 (at position 0)',
    ],
    [
      "PUT",
      `${configMaps}/any`,
      `fieldManager=${"x".repeat(129)}`,
      'UpdateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    ],
    [
      "PATCH",
      `${configMaps}/any`,
      "force=true",
      'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    ],
  ] as const)("%s refuses invalid options", async ([method, path, query, message]) => {
    const answer = await api.send(method, `${path}?${query}`, configMap("any"), merge);
    expect({ status: answer.status, message: answer.body.message }).toEqual({ status: 422, message });
  });
});
