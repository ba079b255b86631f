import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiServer } from "@agent-sandbox/apiserver";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ensureBinaries } from "../kube-apiserver/binaries.ts";
import { startKubernetes } from "../kube-apiserver/start.ts";
import { type ApiAnswer, type ApiQuestion, type ApiServerAddress, ask } from "./ask.ts";
import { type Answer, type HostWebhook, startHostWebhook } from "./host-webhook.ts";

// Outside the timeout of a test, because the first run on a machine compiles Kubernetes.
await ensureBinaries();

const stack = new AsyncDisposableStack();
let servers: readonly ApiServerAddress[];
let webhook: HostWebhook;
let authority: string;

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const spec = (properties: object, more: object = {}): object => ({
  openAPIV3Schema: {
    type: "object",
    properties: {
      spec: { type: "object", properties: { ...properties, note: { type: "string" } }, ...more },
      status: { type: "object", properties: { up: { type: "boolean" } } },
    },
  },
});

/** Holds only if the old object is converted to the right version. */
const hadAddress = { "x-kubernetes-validations": [{ rule: "has(oldSelf.hostPort)", message: "had no address" }] };

function definition(conversion: object, storage: "v1" | "v2" = "v1"): object {
  const version = (name: string, schema: object): object => ({
    name,
    served: true,
    storage: name === storage,
    schema,
    subresources: { status: {} },
  });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "hosts.conv.example.com" },
    spec: {
      group: "conv.example.com",
      scope: "Namespaced",
      names: { plural: "hosts", singular: "host", kind: "Host", listKind: "HostList" },
      conversion,
      versions: [
        version("v1", spec({ host: { type: "string" }, port: { type: "integer" } })),
        version("v2", spec({ hostPort: { type: "string" } }, hadAddress)),
      ],
    },
  };
}

const byWebhook = (clientConfig: object, versions = ["v1"]): object => ({
  strategy: "Webhook",
  webhook: { clientConfig, conversionReviewVersions: versions },
});

const everywhere = (question: ApiQuestion): Promise<readonly ApiAnswer[]> =>
  Promise.all(servers.map((server) => ask(server, question)));

const ownFields = new Set(["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time"]);
interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly subresource?: string;
}
const order = ({ manager, operation, apiVersion, subresource }: ManagedFields): string =>
  [manager, operation, apiVersion, subresource].join();
const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Removes values that depend on the server, and the empty `continue` of lists of custom resources. */
function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each: unknown) => {
      if (key === "continue" && each === "") return undefined;
      // Entries of writes in the same second have no order.
      if (key === "managedFields")
        return (each as ManagedFields[]).toSorted((a, b) => order(a).localeCompare(order(b)));
      if (typeof each === "string") return ownFields.has(key) ? "…" : each.replaceAll(uuids, "…");
      return each;
    }),
  );
}

/** Sends a request to both servers, expects equal responses, and returns the response. */
async function same(question: ApiQuestion): Promise<ApiAnswer> {
  const [theirs, ours] = await everywhere(question);
  expect(comparable(ours)).toEqual(comparable(theirs));
  return ours as ApiAnswer;
}

const hosts = (version: string, name = ""): string =>
  `/apis/conv.example.com/${version}/namespaces/default/hosts${name === "" ? "" : `/${name}`}`;
const host = (version: string, name: string, fields: object, metadata: object = {}): object => ({
  apiVersion: `conv.example.com/${version}`,
  kind: "Host",
  metadata: { name, ...metadata },
  spec: fields,
});
const patchOf = (type: string, path: string, body: object, query = ""): ApiQuestion => ({
  method: "PATCH",
  path: path + query,
  body,
  headers: { "content-type": `application/${type}` },
});

async function untilServed(): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const answers = await Promise.all(
      ["v1", "v2"].map((version) => everywhere({ method: "GET", path: hosts(version) })),
    );
    if (answers.flat().every(({ status }) => status === 200)) return;
    await sleep(100);
  }
  throw new Error("Cannot test conversion: the definition is not served");
}

describe("conversion by a webhook, on kube-apiserver and the embedded server", () => {
  beforeAll(async () => {
    const kubernetes = stack.use(await startKubernetes({ controllers: [] }));
    webhook = stack.use(await startHostWebhook(kubernetes.authority.issueServer("hosts")));
    const theirAuthority = readFileSync(kubernetes.authority.certificate, "utf8");
    authority = Buffer.from(theirAuthority).toString("base64");
    const embedded = stack.use(await createApiServer());
    const listening = await embedded.listen();
    const agents = [theirAuthority, listening.authority].map((ca) => new Agent({ ca, keepAlive: true, maxSockets: 8 }));
    for (const agent of agents) stack.defer(() => agent.destroy());
    servers = [
      { url: kubernetes.url, token: kubernetes.admin.token, agent: agents[0] as Agent },
      { url: listening.url, token: listening.token, agent: agents[1] as Agent },
    ];
    const made = await everywhere({
      method: "POST",
      path: crds,
      body: definition(byWebhook({ url: webhook.url, caBundle: authority })),
    });
    for (const { status, body } of made) if (status !== 201) throw new Error(body.message);
    await untilServed();
  }, 60 * 60_000);

  afterAll(() => stack.disposeAsync());
  afterEach(() => {
    webhook.answer = (right) => right;
    webhook.status = 200;
  });

  test("reads, lists and writes in both versions", async () => {
    await same({
      method: "POST",
      path: hosts("v1"),
      body: host("v1", "a", { host: "x", port: 1 }, { labels: { l: "1" } }),
    });
    expect((await same({ method: "GET", path: hosts("v2", "a") })).body["spec"]).toEqual({ hostPort: "x:1" });
    await same({ method: "POST", path: hosts("v2"), body: host("v2", "b", { hostPort: "y:2" }) });
    expect((await same({ method: "GET", path: hosts("v1", "b") })).body["spec"]).toEqual({ host: "y", port: 2 });
    await same({ method: "GET", path: hosts("v2") });
    await same({ method: "GET", path: `${hosts("v2")}?labelSelector=l%3D1` });
    await same({ method: "POST", path: `${hosts("v2")}?dryRun=All`, body: host("v2", "dry", { hostPort: "z:3" }) });
    await same({ method: "POST", path: hosts("v2"), body: host("v2", "wrong", { hostPort: 5 }) });
    await same({ method: "POST", path: hosts("v2"), body: host("v2", "b", { hostPort: "y:2" }) });
  });

  test("patches in the version that is not stored", async () => {
    await same({ method: "POST", path: hosts("v2"), body: host("v2", "p", { hostPort: "p:1" }) });
    await same(patchOf("merge-patch+json", hosts("v2", "p"), { spec: { hostPort: "p:2" } }));
    await same(
      patchOf("json-patch+json", hosts("v2", "p"), [
        { op: "test", path: "/spec/hostPort", value: "p:2" },
        { op: "replace", path: "/spec/hostPort", value: "p:3" },
      ]),
    );
    await same(patchOf("merge-patch+json", hosts("v1", "p"), { spec: { port: 4, note: "n" } }));
    await same(patchOf("merge-patch+json", `${hosts("v2", "p")}/status`, { status: { up: true } }));
    expect((await same({ method: "GET", path: hosts("v2", "p") })).body["spec"]).toEqual({
      hostPort: "p:4",
      note: "n",
    });
    await same(patchOf("merge-patch+json", hosts("v2", "p"), { spec: { hostPort: "p:4" } }));
  });

  test("applies in the version that is not stored", async () => {
    const apply = (version: string, fields: object, manager: string): ApiQuestion =>
      patchOf("apply-patch+yaml", hosts(version, "s"), host(version, "s", fields), `?fieldManager=${manager}`);
    await same(apply("v2", { hostPort: "s:1" }, "one"));
    await same(apply("v2", { hostPort: "s:2" }, "one"));
    await same(apply("v1", { note: "mine" }, "two"));
    const { body } = await same({ method: "GET", path: hosts("v1", "s") });
    expect(body["spec"]).toEqual({ host: "s", port: 2, note: "mine" });
    expect(await same(apply("v1", { host: "other" }, "three"))).toMatchObject({ status: 409 });
  });

  test("generates a name once", async () => {
    const body = {
      apiVersion: "conv.example.com/v2",
      kind: "Host",
      metadata: { generateName: "g-" },
      spec: { hostPort: "g:1" },
    };
    const answers = await everywhere({ method: "POST", path: hosts("v2"), body });
    for (const { status, body: made } of answers) {
      expect(status).toBe(201);
      expect(made).toMatchObject({
        metadata: { name: expect.stringMatching(/^g-/) as string },
        spec: { hostPort: "g:1" },
      });
    }
    const sizes = await Promise.all(servers.map((server) => ask(server, { method: "GET", path: hosts("v1") })));
    const named = sizes.map(({ body: list }) =>
      (list["items"] as { metadata: { name: string } }[]).filter(({ metadata }) => metadata.name.startsWith("g-")),
    );
    expect(named.map((items) => items.length)).toEqual([1, 1]);
  });

  test("deletes in the version that is not stored", async () => {
    await same({
      method: "POST",
      path: hosts("v1"),
      body: host("v1", "d", { host: "d", port: 1 }, { finalizers: ["conv.example.com/f"] }),
    });
    const { body } = await same({ method: "DELETE", path: hosts("v2", "d") });
    expect(body["spec"]).toEqual({ hostPort: "d:1" });
    await same(patchOf("merge-patch+json", hosts("v2", "d"), { metadata: { finalizers: null } }));
    await same({ method: "GET", path: hosts("v2", "d") });
    await same({
      method: "POST",
      path: hosts("v1"),
      body: host("v1", "c", { host: "c", port: 1 }, { labels: { gone: "1" } }),
    });
    await same({ method: "DELETE", path: `${hosts("v2")}?labelSelector=gone%3D1` });
  });

  test("watches in the version that is not stored", async () => {
    const events = await Promise.all(
      servers.map(async (server) => {
        const list = await ask(server, { method: "GET", path: hosts("v2") });
        const from = (list.body["metadata"] as { resourceVersion: string }).resourceVersion;
        await ask(server, { method: "POST", path: hosts("v1"), body: host("v1", "w", { host: "w", port: 1 }) });
        await ask(server, patchOf("merge-patch+json", hosts("v1", "w"), { spec: { port: 2 } }));
        await ask(server, { method: "DELETE", path: hosts("v1", "w") });
        const path = `${hosts("v2")}?watch=1&resourceVersion=${from}&timeoutSeconds=2`;
        const { body } = await ask(server, { method: "GET", path });
        return (body.message ?? "")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as { type: string; object: { spec: unknown } });
      }),
    );
    const [theirs, ours] = events.map((each) => each.map(({ type, object: { spec: seen } }) => ({ type, seen })));
    expect(ours).toEqual([
      { type: "ADDED", seen: { hostPort: "w:1" } },
      { type: "MODIFIED", seen: { hostPort: "w:2" } },
      { type: "DELETED", seen: { hostPort: "w:2" } },
    ]);
    expect(ours).toEqual(theirs);
  });

  const withObjects =
    (change: (object: Record<string, unknown>) => unknown): Answer =>
    (right) => ({
      ...right,
      response: {
        ...right.response,
        convertedObjects: (right.response["convertedObjects"] as Record<string, unknown>[]).map(change),
      },
    });
  const meta = (change: object): Answer =>
    withObjects((object) => ({ ...object, metadata: { ...(object["metadata"] as object), ...change } }));
  const wrongs: readonly (readonly [string, Answer, number?])[] = [
    [
      "says no",
      (right) => ({ ...right, response: { ...right.response, result: { status: "Failure", message: "boom" } } }),
    ],
    [
      "refuses without a message",
      (right) => ({ ...right, response: { ...right.response, result: { status: "Failure" } } }),
    ],
    ["returns no status", (right) => ({ ...right, response: { ...right.response, result: undefined } })],
    ["returns no object", (right) => ({ ...right, response: { ...right.response, convertedObjects: [] } })],
    ["returns two objects", (right) => ({ ...right, response: { ...right.response, convertedObjects: [{}, {}] } })],
    ["returns another version", withObjects((object) => ({ ...object, apiVersion: "conv.example.com/v9" }))],
    ["returns another kind", withObjects((object) => ({ ...object, kind: "Guest" }))],
    ["changes the name", meta({ name: "other" })],
    ["changes the namespace", meta({ namespace: "other" })],
    ["changes the uid", meta({ uid: "other" })],
    ["returns invalid labels", meta({ labels: { "a b": "c" } })],
    ["returns an empty body", (right) => ({ ...right, response: undefined })],
    ["fails", () => "sorry", 500],
    ["is unreachable", () => "nothing here", 404],
  ];
  test.for(wrongs)("a webhook that %s", async ([, answer, status = 200]) => {
    await everywhere({ method: "POST", path: hosts("v1"), body: host("v1", "bad", { host: "bad", port: 1 }) });
    webhook.answer = answer;
    webhook.status = status;
    const { body } = await same({ method: "GET", path: hosts("v2", "bad") });
    expect(body.message).toContain("conversion webhook for conv.example.com/v1, Kind=Host");
    await same({ method: "POST", path: hosts("v2"), body: host("v2", "never", { hostPort: "n:1" }) });
    webhook.answer = (right) => right;
    webhook.status = 200;
    await same({ method: "GET", path: hosts("v1", "never") });
  });

  test("a webhook that answers with another kind is refused with different messages", async () => {
    await everywhere({ method: "POST", path: hosts("v1"), body: host("v1", "bad", { host: "bad", port: 1 }) });
    webhook.answer = (right) => ({ ...right, kind: "Review" });
    for (const { status, body } of await everywhere({ method: "GET", path: hosts("v2", "bad") })) {
      expect({ status, message: body.message?.replace(/failed: .*/, "failed") }).toEqual({
        status: 500,
        message: "conversion webhook for conv.example.com/v1, Kind=Host failed",
      });
    }
  });

  test("may change labels and annotations but no other metadata", async () => {
    await everywhere({
      method: "POST",
      path: hosts("v1"),
      body: host("v1", "meta", { host: "m", port: 1 }, { labels: { a: "1" } }),
    });
    webhook.answer = meta({ labels: { b: "2" }, annotations: { c: "3" }, finalizers: ["x/y"], generation: 99 });
    const { body } = await same({ method: "GET", path: hosts("v2", "meta") });
    expect(body["metadata"]).toMatchObject({ labels: { b: "2" }, annotations: { c: "3" }, generation: 1 });
  });

  test("supports v1beta1 reviews and a change of the storage version", async () => {
    await everywhere({ method: "POST", path: hosts("v1"), body: host("v1", "old", { host: "o", port: 1 }) });
    await everywhere({ method: "POST", path: hosts("v1"), body: host("v1", "kept", { host: "k", port: 1 }) });
    const older = byWebhook({ url: webhook.url, caBundle: authority }, ["v1beta1", "v1"]);
    for (const version of ["v1", "v2"] as const) {
      const { spec: next } = definition(older, version) as { spec: object };
      const answers = await everywhere(patchOf("merge-patch+json", `${crds}/hosts.conv.example.com`, { spec: next }));
      for (const { status, body } of answers) if (status !== 200) throw new Error(body.message);
    }
    await sleep(1000);
    await untilServed();
    expect((await same({ method: "GET", path: hosts("v2", "old") })).body["spec"]).toEqual({ hostPort: "o:1" });
    await same({ method: "POST", path: hosts("v1"), body: host("v1", "new", { host: "n", port: 1 }) });
    await same({ method: "GET", path: hosts("v2", "new") });
    await same(patchOf("merge-patch+json", hosts("v2", "old"), { spec: { hostPort: "o:2" } }));
    await same({ method: "GET", path: hosts("v1", "old") });
    await same(patchOf("merge-patch+json", hosts("v1", "kept"), { spec: { port: 2 } }));
    expect((await same({ method: "GET", path: hosts("v2", "kept") })).body["spec"]).toEqual({ hostPort: "k:2" });
  });

  const clientConfig = { url: "https://127.0.0.1/convert" };
  const broken: readonly (readonly [string, object])[] = [
    ["no client", { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } }],
    ["no webhook", { strategy: "Webhook" }],
    ["both addresses", byWebhook({ ...clientConfig, service: { name: "a", namespace: "b" } })],
    ["no address", byWebhook({})],
    ["http", byWebhook({ url: "http://127.0.0.1/convert" })],
    ["a query", byWebhook({ url: "https://127.0.0.1/convert?a=b#c" })],
    ["a user", byWebhook({ url: "https://u:p@127.0.0.1/convert" })],
    ["no versions", byWebhook(clientConfig, [])],
    ["unknown versions", byWebhook(clientConfig, ["v7"])],
    ["a version twice", byWebhook(clientConfig, ["v1", "v1"])],
    ["an invalid version", byWebhook(clientConfig, ["v1", "V!"])],
    ["a service without a name", byWebhook({ service: { name: "", namespace: "b" } })],
    ["a service with a wrong port", byWebhook({ service: { name: "a", namespace: "b", port: 70_000 } })],
    ["a service with a wrong path", byWebhook({ service: { name: "a", namespace: "b", path: "x//Y" } })],
    ["a webhook that is not used", { strategy: "None", webhook: { clientConfig, conversionReviewVersions: ["v1"] } }],
    ["an unknown strategy", { strategy: "Magic" }],
  ];
  test.for(broken)("a definition with %s is refused", async ([, conversion]) => {
    const body = definition(conversion) as { metadata: object; spec: { names: object } };
    const names = { plural: "guests", singular: "guest", kind: "Guest", listKind: "GuestList" };
    const renamed = { ...body, metadata: { name: "guests.conv.example.com" }, spec: { ...body.spec, names } };
    expect(await same({ method: "POST", path: `${crds}?dryRun=All`, body: renamed })).toMatchObject({ status: 422 });
  });
});
