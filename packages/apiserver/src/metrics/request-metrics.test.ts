import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";
import { samplesOf, total } from "./scrape.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const scrape = async (): Promise<string> => String((await api.send("GET", "/metrics")).body);
const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string): object => ({ metadata: { name } });
const series = { group: "", version: "v1", resource: "configmaps", subresource: "" };

/** How much a request adds to a metric. */
async function added(
  [metric, labels]: readonly [string, Readonly<Record<string, string>>],
  act: () => Promise<unknown>,
): Promise<number> {
  const before = total(await scrape(), metric, labels);
  await act();
  return total(await scrape(), metric, labels) - before;
}

describe("requests", () => {
  test.for([
    ["POST", configMaps, configMap("a"), { verb: "POST", scope: "resource", code: "201" }],
    ["POST", configMaps, configMap("a"), { verb: "POST", scope: "resource", code: "409" }],
    ["POST", `${configMaps}?dryRun=All`, configMap("b"), { verb: "POST", dry_run: "All", code: "201" }],
    ["GET", `${configMaps}/a`, undefined, { verb: "GET", scope: "resource", code: "200" }],
    ["GET", `${configMaps}/none`, undefined, { verb: "GET", scope: "resource", code: "404" }],
    ["GET", configMaps, undefined, { verb: "LIST", scope: "namespace", code: "200" }],
    ["GET", "/api/v1/configmaps?watch=false", undefined, { verb: "LIST", scope: "cluster", code: "200" }],
    ["DELETE", `${configMaps}/a`, undefined, { verb: "DELETE", scope: "resource", code: "200" }],
    ["DELETE", configMaps, undefined, { verb: "DELETECOLLECTION", scope: "namespace", code: "200" }],
  ] as const)("%s %s is counted once", async ([method, path, body, labels]) => {
    const count = await added(["apiserver_request_total", { ...series, dry_run: "", ...labels }], () =>
      api.send(method, path, body),
    );
    expect(count).toBe(1);
  });

  test("an apply is counted separately from other patches", async () => {
    const apply = (): Promise<unknown> =>
      api.send(
        "PATCH",
        `${configMaps}/applied?fieldManager=me`,
        { apiVersion: "v1", kind: "ConfigMap" },
        {
          "content-type": "application/apply-patch+yaml",
        },
      );
    expect(await added(["apiserver_request_total", { ...series, verb: "APPLY" }], apply)).toBe(1);
    const merge = (): Promise<unknown> => api.merge(`${configMaps}/applied`, { data: { a: "b" } });
    expect(await added(["apiserver_request_total", { ...series, verb: "PATCH" }], merge)).toBe(1);
  });

  test("the duration of each response is observed", async () => {
    const took = "apiserver_request_duration_seconds";
    const labels = { ...series, verb: "GET" };
    const get = (): Promise<unknown> => api.send("GET", `${configMaps}/applied`);
    expect(await added([`${took}_count`, labels], get)).toBe(1);
    expect(await added([`${took}_bucket`, { ...labels, le: "+Inf" }], get)).toBe(1);
  });

  test("the scrape itself is counted as in flight", async () => {
    const text = await scrape();
    expect(total(text, "apiserver_current_inflight_requests", { request_kind: "readOnly" })).toBe(1);
    expect(total(text, "apiserver_current_inflight_requests", { request_kind: "mutating" })).toBe(0);
  });

  test("paths that are not resources are counted by path", async () => {
    const health = ["apiserver_request_total", { verb: "GET", resource: "", subresource: "/healthz" }] as const;
    expect(await added(health, () => api.send("GET", "/healthz/ping"))).toBe(1);
    const groups = ["apiserver_request_total", { verb: "GET", subresource: "/apis", code: "404" }] as const;
    expect(await added(groups, () => api.send("GET", "/apis/none.example"))).toBe(1);
  });

  test("scrapes need the method GET", async () => {
    expect((await api.send("POST", "/metrics", {})).status).toBe(405);
  });
});

describe("hostile requests", () => {
  const twice = async (paths: (at: number) => string): Promise<readonly [number, number]> => {
    const sizes: number[] = [];
    for (const round of [0, 1]) {
      for (let at = 0; at < 50; at += 1) await api.send("GET", paths(round * 50 + at));
      sizes.push(samplesOf(await scrape()).size);
    }
    return sizes as [number, number];
  };

  test.for([
    ["unknown paths", (at: number) => `/nowhere-${at}/"}/%0a`],
    ["unknown groups", (at: number) => `/apis/group-${at}.example/v1/things`],
    ["unknown resources", (at: number) => `/api/v1/things-${at}`],
    ["unknown subresources", (at: number) => `${configMaps}/a/part-${at}`],
    ["names and namespaces", (at: number) => `/api/v1/namespaces/space-${at}/pods/pod-${at}`],
    ["queries", (at: number) => `${configMaps}?limit=${at + 1}&x-${at}=${at}`],
  ] as const)("%s add one series at most", async ([, paths]) => {
    const [first, second] = await twice(paths);
    expect(second).toBe(first);
    expect(await scrape()).not.toMatch(/nowhere-|group-\d|things|part-\d|space-|pod-\d/);
  });

  test("many definitions that are created and deleted share one series", async () => {
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const schema = { openAPIV3Schema: { type: "object" } };
    const define = async (at: number): Promise<void> => {
      const names = { plural: `things${at}`, kind: `Thing${at}` };
      const versions = [{ name: "v1", served: true, storage: true, schema }];
      const spec = { group: "x.example", scope: "Cluster", names, versions };
      await api.create(crds, { metadata: { name: `${names.plural}.x.example` }, spec });
      const path = `/apis/x.example/v1/${names.plural}`;
      for (const asked of [path, `${path}/a`]) await api.send("GET", asked);
      await api.send("DELETE", `${crds}/${names.plural}.x.example`);
    };
    for (let at = 0; at < 520; at += 1) await define(at);
    const text = await scrape();
    expect(total(text, "apiserver_request_total", { resource: "other" })).toBeGreaterThan(0);
    const named = [...samplesOf(text).keys()].filter((name) => name.startsWith("apiserver_request_total"));
    expect(named.length).toBeLessThan(1200);
    const list = ["apiserver_request_total", { resource: "leases", verb: "LIST" }] as const;
    expect(await added(list, () => api.send("GET", "/apis/coordination.k8s.io/v1/leases"))).toBe(1);
  });
});

describe("watches", () => {
  test("are counted while they are open, and so are their events", async () => {
    const labels = { resource: "secrets", version: "v1" };
    const secrets = "/api/v1/namespaces/default/secrets";
    const stop = new AbortController();
    const { events } = (await api.server.transport.stream({
      method: "GET",
      path: `${secrets}?watch=true`,
      signal: stop.signal,
    })) as { events: AsyncIterable<unknown> };
    const iterator = events[Symbol.asyncIterator]();
    await api.create(secrets, { metadata: { name: "s" } });
    await iterator.next();
    const open = await scrape();
    expect(total(open, "apiserver_longrunning_requests", { ...labels, verb: "WATCH", scope: "namespace" })).toBe(1);
    expect(total(open, "apiserver_watch_events_total", labels)).toBe(1);
    expect(total(open, "apiserver_request_total", { ...labels, verb: "WATCH", code: "200" })).toBe(1);
    stop.abort();
    await iterator.next();
    expect(total(await scrape(), "apiserver_longrunning_requests", labels)).toBe(0);
  });
});

describe("objects and process", () => {
  test("objects are counted by their resource", async () => {
    const counted = ["apiserver_storage_objects", { resource: "sandboxes.agents.x-k8s.io" }] as const;
    const spec = { podTemplate: { spec: { containers: [{ name: "c" }] } } };
    const sandbox = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name: "s" }, spec };
    const sandboxes = "/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes";
    expect(await added(counted, () => api.create(sandboxes, sandbox))).toBe(1);
    const text = await scrape();
    const labels = { group: "agents.x-k8s.io", resource: "sandboxes" };
    expect(total(text, "apiserver_resource_objects", labels)).toBe(1);
    expect(total(text, "apiserver_storage_objects", { resource: "namespaces" })).toBe(5);
    expect(text).not.toContain('resource="tokenreviews');
  });

  test("resource usage of the process is reported", async () => {
    const text = await scrape();
    expect(total(text, "process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(total(text, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
    expect(total(text, "process_open_fds")).toBeGreaterThan(2);
    expect(total(text, "process_max_fds")).toBeGreaterThan(total(text, "process_open_fds"));
    expect(total(text, "process_start_time_seconds") * 1000).toBeLessThan(Date.now());
  });
});
