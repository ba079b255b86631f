import { describe, expect, test } from "vitest";
import type { Client } from "../client.ts";
import type { Clock } from "../clock.ts";
import { KubeError } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { TransportRequest } from "../transport.ts";
import { type Answer, nodes, pods, scripted, status } from "./scripted-client.test.support.ts";

const claims: Resource = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  plural: "sandboxclaims",
  namespaced: true,
};

describe("the requests of a client", () => {
  test.for<[string, (client: Client) => Promise<unknown>, TransportRequest]>([
    [
      "get",
      (c) => c.get(pods, { namespace: "ns", name: "a" }),
      { method: "GET", path: "/api/v1/namespaces/ns/pods/a" },
    ],
    [
      "get a subresource of a cluster-scoped kind",
      (c) => c.get(nodes, { name: "n" }, { subresource: "status" }),
      { method: "GET", path: "/api/v1/nodes/n/status" },
    ],
    [
      "create, with apiVersion and kind added",
      (c) =>
        c.create(claims, { metadata: { namespace: "ns", name: "c" } }, { dryRun: true, fieldValidation: "Strict" }),
      {
        method: "POST",
        path: "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/ns/sandboxclaims?fieldManager=me&fieldValidation=Strict&dryRun=All",
        body: {
          metadata: { namespace: "ns", name: "c" },
          apiVersion: "extensions.agents.x-k8s.io/v1beta1",
          kind: "SandboxClaim",
        },
      },
    ],
    [
      "create a subresource of its own kind",
      (c) =>
        c.create<KubeObject>(
          pods,
          { kind: "Eviction", metadata: { namespace: "ns", name: "a" } },
          { subresource: "eviction", fieldManager: "you" },
        ),
      {
        method: "POST",
        path: "/api/v1/namespaces/ns/pods/a/eviction?fieldManager=you",
        body: { kind: "Eviction", metadata: { namespace: "ns", name: "a" } },
      },
    ],
    [
      "update a status",
      (c) =>
        c.update(
          nodes,
          { apiVersion: "v1", kind: "Node", metadata: { name: "n", resourceVersion: "4" } },
          { subresource: "status" },
        ),
      {
        method: "PUT",
        path: "/api/v1/nodes/n/status?fieldManager=me",
        body: { apiVersion: "v1", kind: "Node", metadata: { name: "n", resourceVersion: "4" } },
      },
    ],
    [
      "merge patch with preconditions",
      (c) =>
        c.patch(
          pods,
          { namespace: "ns", name: "a" },
          {
            type: "merge",
            body: { metadata: { labels: { x: null } } },
            preconditions: { uid: "u", resourceVersion: "4" },
          },
        ),
      {
        method: "PATCH",
        path: "/api/v1/namespaces/ns/pods/a?fieldManager=me",
        headers: { "content-type": "application/merge-patch+json" },
        body: { metadata: { labels: { x: null }, uid: "u", resourceVersion: "4" } },
      },
    ],
    [
      "strategic patch without preconditions",
      (c) => c.patch(nodes, { name: "n" }, { type: "strategic", body: { spec: { a: 1 } } }, { subresource: "status" }),
      {
        method: "PATCH",
        path: "/api/v1/nodes/n/status?fieldManager=me",
        headers: { "content-type": "application/strategic-merge-patch+json" },
        body: { spec: { a: 1 } },
      },
    ],
    [
      "JSON patch with preconditions",
      (c) =>
        c.patch(
          nodes,
          { name: "n" },
          {
            type: "json",
            body: [{ op: "remove", path: "/spec/taints" }],
            preconditions: { resourceVersion: "4" },
          },
        ),
      {
        method: "PATCH",
        path: "/api/v1/nodes/n?fieldManager=me",
        headers: { "content-type": "application/json-patch+json" },
        body: [
          { op: "remove", path: "/spec/taints" },
          { op: "add", path: "/metadata/resourceVersion", value: "4" },
        ],
      },
    ],
    [
      "apply",
      (c) => c.patch(nodes, { name: "n" }, { type: "apply", body: { kind: "Node" }, force: true }),
      {
        method: "PATCH",
        path: "/api/v1/nodes/n?fieldManager=me&force=true",
        headers: { "content-type": "application/apply-patch+yaml" },
        body: { kind: "Node" },
      },
    ],
    [
      "delete with preconditions",
      (c) =>
        c.delete(
          nodes,
          { name: "n" },
          { preconditions: { uid: "u" }, propagationPolicy: "Foreground", gracePeriodSeconds: 0 },
        ),
      {
        method: "DELETE",
        path: "/api/v1/nodes/n",
        body: {
          apiVersion: "v1",
          kind: "DeleteOptions",
          preconditions: { uid: "u" },
          propagationPolicy: "Foreground",
          gracePeriodSeconds: 0,
        },
      },
    ],
  ])("%s", async ([, call, expected]) => {
    const { client, asked } = scripted([], { fieldManager: "me" });
    await call(client);
    expect(asked).toEqual([expected]);
  });

  test.for<[string, (client: Client) => Promise<unknown>, RegExp]>([
    [
      "a namespaced object without its namespace",
      (c) => c.get(pods, { name: "a" }),
      /"a" was named without a namespace/,
    ],
    ["a path in a name", (c) => c.get(pods, { namespace: "ns", name: "../b" }), /"..\/b" is not a valid name/],
    ["two dots as a name", (c) => c.delete(nodes, { name: ".." }), /".." is not a valid name/],
    ["an empty name", (c) => c.update(nodes, {}), /"" is not a valid name/],
    [
      "a namespace for a cluster-scoped kind",
      (c) => c.get(nodes, { namespace: "ns", name: "n" }),
      /it has no namespace/,
    ],
    [
      "an object without a namespace",
      (c) => c.create(pods, { metadata: { name: "a" } }),
      /metadata.namespace is missing/,
    ],
    [
      "an apply without field manager",
      (c) => c.patch(nodes, { name: "n" }, { type: "apply", body: {} }),
      /needs a fieldManager/,
    ],
  ])("rejects %s before anything is sent", async ([, call, message]) => {
    const { client, asked } = scripted([]);
    await expect(call(client)).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });

  test("opens a watch with bookmarks at the given version", async () => {
    const { client, asked } = scripted([]);
    await client
      .watch(pods, { namespace: "ns", labelSelector: "a in (b,c)", resourceVersion: "7", timeoutSeconds: 9 })
      .catch(() => 0);
    expect(asked[0]?.path).toBe(
      "/api/v1/namespaces/ns/pods?watch=true&allowWatchBookmarks=true&labelSelector=a%20in%20(b%2Cc)&resourceVersion=7&timeoutSeconds=9",
    );
  });
});

describe("responses", () => {
  test("a Status becomes an error with its details", async () => {
    const details = {
      name: "a",
      kind: "pods",
      causes: [{ field: "spec", message: "bad", reason: "FieldValueInvalid" }],
    };
    const { client } = scripted([{ status: 422, body: { ...Object(status(422, "Invalid", "spec: bad")), details } }]);
    const error = await client.get(pods, { namespace: "ns", name: "a" }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({
      reason: "Invalid",
      code: 422,
      details,
      message: 'Cannot get pods "ns/a": spec: bad',
    });
  });

  test.for<[string, Answer, object]>([
    [
      "an HTML 404 of a proxy is not NotFound",
      { status: 404, headers: { "content-type": "text/html" }, body: "<html>\n <h1>no</h1>" },
      { reason: "InvalidResponse", code: 404, message: expect.stringContaining("404 (text/html): <html> <h1>no</h1>") },
    ],
    [
      "a plain text 404 of an API server is NotFound",
      { status: 404, headers: { "content-type": "text/plain" }, body: "404 page not found" },
      { reason: "NotFound", code: 404 },
    ],
    [
      "a gateway error is an InternalError",
      { status: 502, body: "bad gateway" },
      { reason: "InternalError", code: 502 },
    ],
    ["a redirect is an invalid response", { status: 302, body: "" }, { reason: "InvalidResponse", code: 302 }],
    [
      "an unknown reason is replaced by that of its code",
      { status: 409, body: status(409, "Odd", "x") },
      { reason: "Conflict" },
    ],
    [
      "the reason Unreachable of a server is replaced",
      { status: 500, body: status(500, "Unreachable", "x") },
      { reason: "InternalError" },
    ],
    ["a success without an object is an invalid response", { status: 200, body: "ok" }, { reason: "InvalidResponse" }],
  ])("%s", async ([, answer, expected]) => {
    const { client } = scripted([answer]);
    await expect(client.get(nodes, { name: "n" })).rejects.toMatchObject(expected);
  });

  test("a wrong uid is a Conflict, although Kubernetes reports Invalid", async () => {
    const causes = [{ reason: "FieldValueInvalid", message: "field is immutable", field: "metadata.uid" }];
    const answer = { status: 422, body: { ...Object(status(422, "Invalid", "no")), details: { causes } } };
    const { client } = scripted([answer, answer]);
    const guarded = { type: "merge", body: {}, preconditions: { uid: "u" } } as const;
    await expect(client.patch(nodes, { name: "n" }, guarded)).rejects.toMatchObject({ reason: "Conflict", code: 422 });
    const unguarded = { type: "merge", body: { metadata: { uid: "u" } } } as const;
    await expect(client.patch(nodes, { name: "n" }, unguarded)).rejects.toMatchObject({ reason: "Invalid" });
  });

  test("a deletion that returns a Status has no object", async () => {
    const { client } = scripted([
      { body: { kind: "Status", status: "Success" } },
      { body: { metadata: { name: "n" } } },
    ]);
    expect(await client.delete(nodes, { name: "n" })).toBeUndefined();
    expect(await client.delete(nodes, { name: "n" })).toEqual({ metadata: { name: "n" } });
  });

  test("warnings are passed to the handler", async () => {
    const warnings: string[] = [];
    const header = '299 - "unknown field \\"spec.x\\"", 299 - "v1alpha1 is deprecated, use v1beta1"';
    const { client } = scripted([{ headers: { warning: header } }], { onWarning: (text) => warnings.push(text) });
    await client.get(nodes, { name: "n" });
    expect(warnings).toEqual(['unknown field "spec.x"', "v1alpha1 is deprecated, use v1beta1"]);
  });
});

describe("requests that the server rejected as busy", () => {
  const busy = (code: number, retryAfter?: string): Answer => ({
    status: code,
    headers: retryAfter === undefined ? {} : { "retry-after": retryAfter },
    body: status(code, code === 429 ? "TooManyRequests" : "ServiceUnavailable", "busy"),
  });

  test("are retried when the server asked for it, and not sooner", async () => {
    const { client, slept, asked } = scripted([busy(429, "3"), busy(503, "1"), busy(429), { body: { ok: true } }]);
    expect(await client.create(nodes, { metadata: { name: "n" } })).toEqual({ ok: true });
    expect(slept).toEqual([3_000, 1_000, 4_000]);
    expect(asked.length).toBe(4);
  });

  test("are retried a limited number of times", async () => {
    const { client, asked } = scripted(Array.from({ length: 10 }, () => busy(429, "1")));
    await expect(client.get(nodes, { name: "n" })).rejects.toMatchObject({
      reason: "TooManyRequests",
      retryAfterMs: 1_000,
    });
    expect(asked.length).toBe(5);
  });

  test.for<[string, Answer]>([
    ["503 without Retry-After", busy(503)],
    ["500", { status: 500, headers: { "retry-after": "1" }, body: status(500, "InternalError", "x") }],
    ["a long Retry-After", busy(429, "60")],
  ])("are not retried after %s", async ([, answer]) => {
    const { client, asked } = scripted([answer]);
    await expect(client.get(nodes, { name: "n" })).rejects.toBeInstanceOf(KubeError);
    expect(asked.length).toBe(1);
  });

  test("are not retried when the caller aborts", async () => {
    const abort = new AbortController();
    const clock: Clock = { now: () => 0, sleep: async () => abort.abort(new Error("enough")) };
    const { client, asked } = scripted([busy(429, "1")], { clock });
    await expect(client.get(nodes, { name: "n" }, { signal: abort.signal })).rejects.toMatchObject({
      reason: "Unreachable",
    });
    expect(asked.length).toBe(1);
  });
});
