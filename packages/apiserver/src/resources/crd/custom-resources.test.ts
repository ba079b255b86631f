import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../../testing/test-api.test.support.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const merge = (name: string): string => `${crds}/${name}`;

const spec = {
  type: "object",
  properties: {
    size: { type: "integer", default: 3, minimum: 1 },
    colour: { type: "string", enum: ["red", "blue"] },
  },
};
const version = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
  subresources: { status: {} },
  ...more,
});
const widgets = (change: Record<string, unknown> = {}, group = "example.com"): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets", shortNames: ["wd"] },
    versions: [version("v1")],
    ...change,
  },
});
/** Custom resources must have their apiVersion and kind in the body. */
const widget = (group: string, name: string, more: object = {}): object => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  metadata: { name },
  ...more,
});
const objects = (group: string, name = "v1"): string => `/apis/${group}/${name}/namespaces/default/widgets`;

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

describe("an object that is older than the schema of its kind", () => {
  const group = "grown.example.com";
  const path = objects(group);
  const grown = {
    type: "object",
    properties: { size: spec.properties.size, edge: { type: "string", default: "soft" } },
  };
  const schema = (own: object): object => ({ openAPIV3Schema: { type: "object", properties: { spec: own } } });

  test("is shown by the current schema, and stored unchanged until the next write", async () => {
    await api.create(crds, widgets({}, group));
    const made = await api.create(path, widget(group, "a", { spec: { colour: "red" } }));
    expect(made.spec).toEqual({ colour: "red", size: 3 });
    const versions = [version("v1", { schema: schema(grown) })];
    expect((await api.merge(merge(`widgets.${group}`), { spec: { versions } })).status).toBe(200);

    const now = { size: 3, edge: "soft" };
    expect((await api.get(`${path}/a`)).spec).toEqual(now);
    const { body: list } = await api.send("GET", path);
    expect(list.items[0].spec).toEqual(now);
    const watching = await api.watch(`${path}?watch=true`);
    expect((await watching.next()).object.spec).toEqual(now);
    watching.stop();
    expect((await api.get(`${path}/a`)).metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    const { body: labelled } = await api.merge(`${path}/a`, { metadata: { labels: { touched: "yes" } } });
    expect(labelled).toMatchObject({ metadata: { generation: 1 }, spec: now });
    const { body } = await api.merge(`${path}/a`, { spec: { size: 4 } });
    expect(body).toMatchObject({ metadata: { generation: 2 }, spec: { size: 4, edge: "soft" } });
  });

  test("is shown in another version by the schema of that version", async () => {
    const versions = [
      version("v1", { schema: schema(grown) }),
      version("v2", { storage: false, schema: schema({ type: "object", properties: { edge: { type: "string" } } }) }),
    ];
    expect((await api.merge(merge(`widgets.${group}`), { spec: { versions } })).status).toBe(200);
    expect((await api.get(`${objects(group, "v2")}/a`)).spec).toEqual({ edge: "soft" });
  });
});

describe("custom resources", () => {
  test("are served from the moment their definition is saved", async () => {
    const created = await api.create(crds, widgets());
    expect(created).toMatchObject({
      metadata: { generation: 1 },
      spec: { names: { singular: "widget", listKind: "WidgetList" }, conversion: { strategy: "None" } },
      status: {
        acceptedNames: { plural: "widgets", kind: "Widget" },
        storedVersions: ["v1"],
        conditions: [
          { type: "NamesAccepted", status: "True", reason: "NoConflicts" },
          { type: "Established", status: "True", reason: "InitialNamesAccepted" },
        ],
      },
    });
    expect(await api.create(objects("example.com"), widget("example.com", "a"))).toMatchObject({ kind: "Widget" });
    expect((await api.create(objects("example.com"), widget("example.com", "b", { spec: {} }))).spec).toEqual({
      size: 3,
    });
    const wrong = await api.send("POST", objects("example.com"), {
      ...widget("example.com", "c"),
      spec: { colour: "green" },
    });
    expect(wrong.body.message).toBe(
      'Widget.example.com "c" is invalid: spec.colour: Unsupported value: "green": supported values: "red", "blue"',
    );
    const { resources } = await api.get("/apis/example.com/v1");
    expect(resources).toContainEqual(expect.objectContaining({ name: "widgets", shortNames: ["wd"], kind: "Widget" }));
    const { paths } = JSON.parse(String((await api.send("GET", "/openapi/v3")).body));
    expect(Object.keys(paths)).toContain("apis/example.com/v1");
  });

  test("can be selected by the selectableFields of their definition", async () => {
    const selectable = { versions: [version("v1", { selectableFields: [{ jsonPath: ".spec.colour" }] })] };
    await api.create(crds, widgets(selectable, "pick.example.com"));
    const path = objects("pick.example.com");
    await api.create(path, widget("pick.example.com", "r", { spec: { colour: "red" } }));
    await api.create(path, widget("pick.example.com", "b", { spec: { colour: "blue" } }));
    expect(await api.names(`${path}?fieldSelector=spec.colour%3Dred`)).toEqual(["r"]);
    expect((await api.send("GET", `${path}?fieldSelector=spec.size%3D3`)).status).toBe(400);
  });

  test("follow every change of their definition, which must keep stored versions", async () => {
    await api.create(crds, widgets({}, "grow.example.com"));
    await api.create(objects("grow.example.com"), widget("grow.example.com", "old", { spec: { size: 7 } }));
    const next = { versions: [version("v1", { storage: false }), version("v2")] };
    expect(await api.merge(merge("widgets.grow.example.com"), { spec: next })).toMatchObject({
      status: 200,
      body: { status: { storedVersions: ["v1", "v2"] } },
    });
    expect(await api.get(`${objects("grow.example.com", "v2")}/old`)).toMatchObject({
      apiVersion: "grow.example.com/v2",
      spec: { size: 7 },
    });
    const { versions } = await api.get("/apis/grow.example.com");
    expect(versions).toMatchObject([{ version: "v2" }, { version: "v1" }]);
    const dropped = await api.merge(merge("widgets.grow.example.com"), { spec: { versions: [version("v2")] } });
    expect(dropped.body.message).toContain('status.storedVersions[0]: Invalid value: "v1": missing from spec.versions');
    const hidden = { versions: [version("v1", { storage: false, served: false }), version("v2")] };
    await api.merge(merge("widgets.grow.example.com"), { spec: hidden });
    expect((await api.send("GET", objects("grow.example.com"))).status).toBe(404);
  });

  test("are deleted with their definition", async () => {
    await api.create(crds, widgets({}, "gone.example.com"));
    const held = widget("gone.example.com", "held", { metadata: { name: "held", finalizers: ["example.com/wait"] } });
    await api.create(objects("gone.example.com"), held);
    await api.create(objects("gone.example.com"), widget("gone.example.com", "free"));
    const { body } = await api.send("DELETE", merge("widgets.gone.example.com"));
    expect(body.metadata.finalizers).toEqual(["customresourcecleanup.apiextensions.k8s.io"]);
    expect(body.status.conditions).toContainEqual(expect.objectContaining({ type: "Terminating", status: "True" }));
    await api.gone(objects("gone.example.com"), "free");
    const late = await api.send("POST", objects("gone.example.com"), widget("gone.example.com", "late"));
    expect(late).toMatchObject({ status: 405, body: { message: expect.stringContaining("is terminating") } });
    await api.merge(`${objects("gone.example.com")}/held`, { metadata: { finalizers: null } });
    await api.gone(crds, "widgets.gone.example.com");
    expect((await api.send("GET", objects("gone.example.com"))).status).toBe(404);
  });

  test("are not served while another kind of the group has their names", async () => {
    await api.create(crds, widgets({}, "clash.example.com"));
    const rival = {
      metadata: { name: "gadgets.clash.example.com" },
      spec: {
        group: "clash.example.com",
        scope: "Namespaced",
        names: { kind: "Gadget", plural: "gadgets", shortNames: ["wd"] },
        versions: [version("v1")],
      },
    };
    const created = await api.create(crds, rival);
    expect(created["status"]).toMatchObject({
      conditions: [
        { type: "NamesAccepted", status: "False", reason: "ShortNamesConflict", message: '"wd" is already in use' },
        { type: "Established", status: "False", reason: "NotAccepted" },
      ],
    });
    expect((await api.send("GET", "/apis/clash.example.com/v1/gadgets")).status).toBe(404);
    const free = { spec: { names: { ...rival.spec.names, shortNames: ["gd"] } } };
    await api.merge(merge("gadgets.clash.example.com"), free);
    expect((await api.send("GET", "/apis/clash.example.com/v1/gadgets")).status).toBe(200);
  });

  test("are served again after a restart", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "apiserver-crd-"));
    const first = await TestApi.start({ dataDir });
    await first.create(crds, widgets());
    await first.create(objects("example.com"), widget("example.com", "kept"));
    await first.server.close();
    await using second = await TestApi.start({ dataDir });
    expect(await second.names(objects("example.com"))).toEqual(["kept"]);
    await second.server.close();
    rmSync(dataDir, { recursive: true });
  });
});

describe("the platform's own definitions", () => {
  const own = merge("sandboxes.agents.x-k8s.io");

  test("are listed, and cannot be deleted", async () => {
    const crd = await api.get(own);
    expect(crd).toMatchObject({ status: { storedVersions: ["v1beta1"] } });
    expect((await api.send("PUT", own, crd)).body.metadata.resourceVersion).toBe(crd.metadata.resourceVersion);
    expect((await api.send("DELETE", own)).status).toBe(403);
  });

  const other = { scope: "Cluster", versions: [] };
  test.for([
    ["a patch", () => api.merge(own, { metadata: { labels: { a: "patch" } }, spec: other })],
    ["an update", async () => api.send("PUT", own, { ...(await api.get(own)), spec: other })],
    [
      "an apply",
      () => {
        const body = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", spec: other };
        return api.apply(own, "me", body);
      },
    ],
  ] as const)("are accepted in %s, with a warning, and do not change", async ([, write]) => {
    const { spec } = await api.get(own);
    const { status, headers } = await write();
    expect([status, headers?.["warning"]]).toEqual([200, expect.stringContaining("built in")]);
    expect((await api.get(own))["spec"]).toEqual(spec);
  });
});

describe("definitions", () => {
  const schema = (openAPIV3Schema: unknown): Record<string, unknown> => ({
    versions: [version("v1", { schema: { openAPIV3Schema } })],
  });
  const field = (part: object): Record<string, unknown> => schema({ type: "object", properties: { x: part } });
  const at = "spec.validation.openAPIV3Schema";

  test.for([
    ["metadata.name", 'must be spec.names.plural+"."+spec.group', { group: "other.com" }],
    ["spec.group", "should be a domain with at least one dot", { group: "example" }],
    ["spec.scope", 'supported values: "Cluster", "Namespaced"', { scope: "Galaxy" }],
    ["spec.names.kind", "Required value", { names: { plural: "widgets" } }],
    ["spec.names.plural", "a DNS-1035 label must consist of", { names: { plural: "Wid gets", kind: "Widget" } }],
    [
      "spec.versions",
      "must have exactly one version marked as storage version",
      { versions: [version("v1"), version("v2")] },
    ],
    [
      "spec.versions",
      "must contain unique version names",
      { versions: [version("v1"), version("v1", { storage: false })] },
    ],
    [
      "spec.conversion.webhookClientConfig",
      "required when strategy is set to Webhook",
      { conversion: { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } } },
    ],
    ["spec.versions[0].schema.openAPIV3Schema", "Required value", { versions: [version("v1", { schema: undefined })] }],
    [`${at}.type`, "must not be empty at the root", schema({})],
    [`${at}.type`, "must be object at the root", schema({ type: "string" })],
    [`${at}.properties[x].type`, "must not be empty for specified object fields", field({ minimum: 1 })],
    [`${at}.properties[x].type`, "supported values", field({ type: "text" })],
    [`${at}.properties[x].items`, "must be specified", field({ type: "array" })],
    [`${at}.properties[x].$ref`, "$ref is not supported", field({ type: "string", $ref: "#/x" })],
    [
      `${at}.properties[x].anyOf[0].type`,
      "must be empty to be structural",
      field({ type: "string", anyOf: [{ type: "string" }] }),
    ],
    [`${at}.properties[x].default`, "must be of type integer", field({ type: "integer", default: "three" })],
    [`${at}.properties[x].pattern`, "must be a valid regular expression", field({ type: "string", pattern: "(" })],
    [
      `${at}.properties[x].x-kubernetes-list-map-keys`,
      "must not be empty if x-kubernetes-list-type is map",
      field({ type: "array", items: { type: "object" }, "x-kubernetes-list-type": "map" }),
    ],
    [
      `${at}.x-kubernetes-validations[0].rule`,
      "compilation failed: ",
      schema({ type: "object", "x-kubernetes-validations": [{ rule: "self." }] }),
    ],
    [
      `${at}.properties[metadata]`,
      "must not specify anything other than name and generateName",
      schema({
        type: "object",
        properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
      }),
    ],
    [
      `${at}.properties[x].additionalProperties`,
      "additionalProperties and properties are mutual exclusive",
      field({ type: "object", properties: { y: { type: "string" } }, additionalProperties: { type: "string" } }),
    ],
  ] as const)("are refused for %s: %s", async ([where, why, change]) => {
    const { status, body } = await api.send("POST", crds, {
      ...widgets(change),
      metadata: { name: "widgets.wrong.example.com" },
    });
    expect(status).toBe(422);
    const causes = body.details.causes as { field: string; message: string }[];
    expect(causes.filter((cause) => cause.field === where).map(({ message }) => message)).toContainEqual(
      expect.stringContaining(why),
    );
  });

  test("cannot change their group, names or scope", async () => {
    await api.create(crds, widgets({}, "fixed.example.com"));
    const { body } = await api.merge(merge("widgets.fixed.example.com"), { spec: { scope: "Cluster" } });
    expect(body.message).toContain('spec.scope: Invalid value: "Cluster": field is immutable');
  });
});
