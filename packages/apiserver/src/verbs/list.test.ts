import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, configMaps, pod, pods, TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box", history: { maxChanges: 50, maxAgeMs: 60_000 } });
  for (const name of ["e", "b", "d", "a", "c"])
    await api.create(configMaps, configMap(name, { labels: { odd: String("ace".includes(name)) } }));
  await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("z"));
  await api.create(pods, pod("one"));
  await api.create(pods, { ...pod("two"), spec: { nodeName: "other", containers: [{ name: "a", image: "b" }] } });
});
afterAll(() => api[Symbol.asyncDispose]());

describe("list", () => {
  test("lists one namespace or all, sorted by name", async () => {
    expect(await api.names(configMaps)).toEqual(["a", "b", "c", "d", "e"]);
    expect(await api.names("/api/v1/configmaps")).toEqual(["a", "b", "c", "d", "e", "z"]);
    const { body } = await api.send("GET", configMaps);
    expect(body).toMatchObject({
      apiVersion: "v1",
      kind: "ConfigMapList",
      metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
    });
  });

  test.for([
    ["labelSelector=odd%3Dtrue", ["a", "c", "e"]],
    ["labelSelector=odd%20notin%20(true)", ["b", "d"]],
    ["fieldSelector=metadata.name%3Dc", ["c"]],
    ["fieldSelector=metadata.name%21%3Dc&labelSelector=odd%3Dtrue", ["a", "e"]],
    ["fieldSelector=metadata.namespace%3Dkube-system", []],
  ] as const)("selects with %s", async ([query, expected]) => {
    expect(await api.names(`${configMaps}?${query}`)).toEqual(expected);
  });

  test("selects Pods by node and phase", async () => {
    expect(await api.names("/api/v1/pods?fieldSelector=spec.nodeName%3Dbox")).toEqual(["one"]);
    expect(await api.names("/api/v1/pods?fieldSelector=status.phase%3DPending,spec.nodeName%3Dother")).toEqual(["two"]);
  });

  test("serves all pages of a list from the same revision", async () => {
    const first = await api.send("GET", `${configMaps}?limit=2`);
    expect(first.body.metadata.remainingItemCount).toBe(3);
    await api.create(configMaps, configMap("bb"));
    await api.send("DELETE", `${configMaps}/d`);
    await api.merge(`${configMaps}/e`, { data: { changed: "yes" } });
    const names: string[] = first.body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    let token: string = first.body.metadata.continue;
    while (token !== undefined) {
      const { body } = await api.send("GET", `${configMaps}?limit=2&continue=${token}`);
      expect(body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
      for (const item of body.items) {
        names.push(item.metadata.name);
        expect(item).not.toHaveProperty("data");
      }
      token = body.metadata.continue;
    }
    expect(names).toEqual(["a", "b", "c", "d", "e"]);
    const exact = `${configMaps}?resourceVersionMatch=Exact&resourceVersion=${first.body.metadata.resourceVersion}`;
    expect(await api.names(exact)).toEqual(["a", "b", "c", "d", "e"]);
    expect(await api.names(configMaps)).toEqual(["a", "b", "bb", "c", "e"]);
  });

  test("answers 410 for a page of a revision that is no longer in the history", async () => {
    const { body } = await api.send("GET", `${configMaps}?limit=1`);
    for (let at = 0; at < 120; at += 1) await api.merge(`${configMaps}/a`, { data: { at: String(at) } });
    const next = await api.send("GET", `${configMaps}?limit=1&continue=${body.metadata.continue}`);
    expect(next).toMatchObject({ status: 410, body: { reason: "Expired", code: 410 } });
  });

  test.for([
    "limit=x",
    "limit=-1",
    "continue=zzz",
    "continue=WzEsMl0",
    "labelSelector=a%20b",
    "fieldSelector=spec.unknown%3Dx",
    "fieldSelector=a",
    "resourceVersion=abc",
    "limit=1&limit=2",
    "watch=perhaps",
    "timeoutSeconds=soon",
  ])("refuses %s", async (query) => {
    expect(await api.send("GET", `${configMaps}?${query}`)).toMatchObject({
      status: 400,
      body: { reason: "BadRequest" },
    });
  });

  test.for([
    ["resourceVersionMatch=Exact", "resourceVersionMatch"],
    ["resourceVersionMatch=Sometimes&resourceVersion=1", "resourceVersionMatch"],
    ["resourceVersionMatch=Exact&resourceVersion=0", "resourceVersionMatch"],
    ["sendInitialEvents=true", "sendInitialEvents"],
  ] as const)("refuses %s and reports the field %s", async ([query, field]) => {
    expect(await api.send("GET", `${configMaps}?${query}`)).toMatchObject({
      status: 422,
      body: { reason: "Invalid", details: { kind: "ListOptions", causes: [{ field }] } },
    });
  });

  test("refuses a resourceVersion together with a continue token", async () => {
    const { body } = await api.send("GET", `${configMaps}?limit=1`);
    const next = `${configMaps}?limit=1&continue=${body.metadata.continue}`;
    expect((await api.send("GET", `${next}&resourceVersion=1`)).status).toBe(400);
    expect((await api.send("GET", `${next}&resourceVersion=0`)).status).toBe(200);
  });

  test("answers a resourceVersion in the future with a retryable timeout", async () => {
    const answer = await api.send("GET", `${configMaps}?resourceVersion=999999`);
    expect(answer).toMatchObject({ status: 504, headers: { "retry-after": "1" }, body: { reason: "Timeout" } });
  });
});
