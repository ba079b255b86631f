import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServedEvent } from "../request/api-request.ts";
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

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start({ history: { maxChanges: 400, maxAgeMs: 3_600_000 } });
});
afterAll(() => api[Symbol.asyncDispose]());

const revision = async (): Promise<string> => (await api.get(configMaps)).metadata.resourceVersion;

describe("watch", () => {
  test("sends the changes after a revision", async () => {
    const from = await revision();
    const watching = await api.watch(`${configMaps}?watch=true&resourceVersion=${from}`);
    await api.create(configMaps, configMap("w1"));
    await api.merge(`${configMaps}/w1`, { data: { a: "1" } });
    const { body: gone } = await api.send("DELETE", `${configMaps}/w1`);
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
    await api.create(configMaps, configMap("w2"));
    expect(await watching.seen(4)).toEqual(["ADDED w1", "MODIFIED w1", "DELETED w1", "ADDED w2"]);
    expect(gone.status).toBe("Success");
    watching.stop();
    expect(await watching.ended()).toBe(true);
  });

  test.for([
    ["v1beta1", true],
    ["v1alpha1", false],
  ] as const)("sends objects in %s as the stored text: %s", async ([version, isStored]) => {
    const name = `text-${version}`;
    const path = sandboxes.replace("v1beta1", version);
    await api.create(sandboxes, sandbox(name));
    const { metadata } = await api.get(`${sandboxes}/${name}`);
    await api.merge(`${sandboxes}/${name}`, { metadata: { labels: { a: "1" } } });
    const from = `fieldSelector=metadata.name%3D${name}&resourceVersion=${metadata.resourceVersion}`;
    const watching = await api.watch(`${path}?watch=true&${from}`);
    const { object, json } = (await watching.next()) as ServedEvent;
    watching.stop();
    expect(object).toMatchObject({ apiVersion: `agents.x-k8s.io/${version}`, metadata: { labels: { a: "1" } } });
    expect(json).toBe(isStored ? JSON.stringify(object) : undefined);
  });

  test("sends the same changes to a later watch from the same revision", async () => {
    const from = await revision();
    await api.create(configMaps, configMap("again"));
    await api.send("DELETE", `${configMaps}/again`);
    const watching = await api.watch(`${configMaps}?watch=true&resourceVersion=${from}`);
    const added = await watching.next();
    const deleted = await watching.next();
    expect([added.type, deleted.type]).toEqual(["ADDED", "DELETED"]);
    expect(Number(deleted.object.metadata.resourceVersion)).toBe(Number(added.object.metadata.resourceVersion) + 1);
    watching.stop();
  });

  test("starts with all current objects, in batches, when no revision is given", async () => {
    await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        api.create("/api/v1/namespaces/kube-public/configmaps", configMap(`m${at}`)),
      ),
    );
    const watching = await api.watch("/api/v1/namespaces/kube-public/configmaps?watch=true");
    expect(new Set(await watching.seen(300)).size).toBe(300);
    watching.stop();
  });

  test("marks the end of the initial events with a bookmark for sendInitialEvents", async () => {
    const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const watching = await api.watch(`/api/v1/namespaces?${query}`);
    await watching.seen(5);
    const bookmark = await watching.next();
    expect(bookmark).toEqual({
      type: "BOOKMARK",
      object: {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: {
          resourceVersion: expect.stringMatching(/^\d+$/),
          annotations: { "k8s.io/initial-events-end": "true" },
        },
      },
    });
    watching.stop();
  });

  test("sends bookmarks, from which another watch can start", async () => {
    await using own = await TestApi.start({ bookmarkMs: 5 });
    const watching = await own.watch(`${pods}?watch=true&allowWatchBookmarks=true`);
    const { metadata } = await own.create(configMaps, configMap("elsewhere"));
    let bookmark = await watching.next();
    while (Number(bookmark.object.metadata.resourceVersion) < Number(metadata.resourceVersion))
      bookmark = await watching.next();
    expect(bookmark).toEqual({
      type: "BOOKMARK",
      object: { apiVersion: "v1", kind: "Pod", metadata: { resourceVersion: metadata.resourceVersion } },
    });
    watching.stop();
    await own.create(pods, pod("after"));
    const again = await own.watch(`${pods}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    expect(await again.seen(1)).toEqual(["ADDED after"]);
  });

  test("starts with the next change when sendInitialEvents is false and no revision is given", async () => {
    const watching = await api.watch(
      `${configMaps}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
    );
    await api.create(configMaps, configMap("from-now"));
    expect(await watching.seen(1)).toEqual(["ADDED from-now"]);
    watching.stop();
  });

  test("sends ADDED when an object starts to match the selector, and DELETED when it stops", async () => {
    const from = await revision();
    const watching = await api.watch(`${configMaps}?watch=true&labelSelector=on%3Dyes&resourceVersion=${from}`);
    await api.create(configMaps, configMap("turn"));
    await api.merge(`${configMaps}/turn`, { metadata: { labels: { on: "yes" } } });
    await api.merge(`${configMaps}/turn`, { data: { a: "1" } });
    await api.merge(`${configMaps}/turn`, { metadata: { labels: { on: "no" } }, data: { a: "2" } });
    await api.merge(`${configMaps}/turn`, { data: { a: "3" } });
    await api.merge(`${configMaps}/turn`, { metadata: { labels: { on: "yes" } } });
    await api.send("DELETE", `${configMaps}/turn`);
    const events = [
      await watching.next(),
      await watching.next(),
      await watching.next(),
      await watching.next(),
      await watching.next(),
    ];
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]);
    expect(events[2]?.object).toMatchObject({ data: { a: "1" }, metadata: { labels: { on: "yes" } } });
    watching.stop();
  });

  test("selects Pods by spec.nodeName", async () => {
    const watching = await api.watch("/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn1");
    await api.create(pods, pod("nowhere"));
    await api.create(pods, { ...pod("somewhere"), spec: { nodeName: "n1", containers: [{ name: "a", image: "b" }] } });
    expect(await watching.seen(1)).toEqual(["ADDED somewhere"]);
    watching.stop();
  });

  test("ends after timeoutSeconds", async () => {
    const watching = await api.watch(`${configMaps}?watch=true&timeoutSeconds=1&resourceVersion=${await revision()}`);
    expect(await watching.ended()).toBe(true);
  });

  test("ends when the server closes", async () => {
    const own = await TestApi.start();
    const watching = await own.watch(`${configMaps}?watch=true`);
    const ended = watching.ended();
    await own.server.close();
    expect(await ended).toBe(true);
  });

  test("refuses a revision that is too old or in the future", async () => {
    const own = await TestApi.start({ history: { maxChanges: 8, maxAgeMs: 3_600_000 } });
    await own.create(configMaps, configMap("a"));
    for (let at = 0; at < 40; at += 1) await own.merge(`${configMaps}/a`, { data: { at: String(at) } });
    const old = await own.server.transport.stream({
      method: "GET",
      path: `${configMaps}?watch=true&resourceVersion=6`,
    });
    expect(old).toMatchObject({ status: 410, body: { reason: "Expired", code: 410 } });
    const fresh = await own.server.transport.stream({
      method: "GET",
      path: `${configMaps}?watch=true&resourceVersion=9999`,
    });
    expect(fresh).toMatchObject({ status: 504, body: { reason: "Timeout" } });
    await own.server.close();
  });

  test("ends a watch that falls behind the history with the error Expired", async () => {
    const own = await TestApi.start({ history: { maxChanges: 8, maxAgeMs: 3_600_000 } });
    await own.create(configMaps, configMap("a"));
    const watching = await own.watch(`${configMaps}?watch=true`);
    expect(await watching.seen(1)).toEqual(["ADDED a"]);
    for (let at = 0; at < 40; at += 1) await own.merge(`${configMaps}/a`, { data: { at: String(at) } });
    const event = await watching.next();
    expect(event).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
    expect(await watching.ended()).toBe(true);
    await own.server.close();
  });

  test("can start from an old revision of a kind that rarely changes, however often others change", async () => {
    const own = await TestApi.start({ history: { maxChanges: 8, maxAgeMs: 3_600_000 } });
    const from = (await own.get(pods)).metadata.resourceVersion;
    await own.create(configMaps, configMap("a"));
    for (let at = 0; at < 40; at += 1) await own.merge(`${configMaps}/a`, { data: { at: String(at) } });
    const watching = await own.watch(`${pods}?watch=true&resourceVersion=${from}`);
    await own.create(pods, pod("late"));
    expect(await watching.seen(1)).toEqual(["ADDED late"]);
    await own.server.close();
  });

  test.for([
    ["sendInitialEvents=true", 422],
    ["resourceVersionMatch=NotOlderThan", 422],
    ["resourceVersion=x", 400],
    ["timeoutSeconds=soon", 400],
    ["sendInitialEvents=true&resourceVersionMatch=Exact", 422],
  ] as const)("refuses %s with %i", async ([query, status]) => {
    const answer = await api.server.transport.stream({ method: "GET", path: `${configMaps}?watch=true&${query}` });
    expect(answer.status).toBe(status);
  });
});

type Step = { readonly do: "create" | "label" | "data" | "delete" | "snapshot"; readonly name: string };

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom("create", "label", "data", "delete", "snapshot"),
  name: fc.constantFrom("a", "b", "c"),
});

interface Snapshot {
  readonly objects: Map<string, TestObject>;
  readonly revision: string;
}

async function snapshot(own: TestApi, selector: string): Promise<Snapshot> {
  const { body } = await own.send("GET", `${configMaps}?${selector}`);
  const objects = new Map<string, TestObject>(body.items.map((item: TestObject) => [item.metadata.name, item]));
  return { objects, revision: body.metadata.resourceVersion };
}

async function perform(own: TestApi, { do: what, name }: Step, at: number): Promise<void> {
  const path = `${configMaps}/${name}`;
  if (what === "create") await own.send("POST", configMaps, configMap(name, { labels: { on: String(at % 2) } }));
  if (what === "label") await own.merge(path, { metadata: { labels: { on: String(at % 2) } } });
  if (what === "data") await own.merge(path, { data: { at: String(at) } });
  if (what === "delete") await own.send("DELETE", path);
}

test.for(["", "labelSelector=on%3D1"])(
  "a list and the events of a watch from it always add up to the later list (%s)",
  async (selector) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        await using own = await TestApi.start();
        const snapshots = [await snapshot(own, selector)];
        const pending: Promise<void>[] = [];
        for (const [at, each] of steps.entries()) {
          if (each.do === "snapshot") snapshots.push(await snapshot(own, selector));
          else pending.push(perform(own, each, at));
        }
        await Promise.all(pending);
        await own.create(configMaps, configMap("zz", { labels: { on: "1" } }));
        const last = await snapshot(own, selector);
        for (const { objects, revision: from } of snapshots) {
          const watching = await own.watch(`${configMaps}?watch=true&resourceVersion=${from}&${selector}`);
          const replayed = new Map(objects);
          while (!replayed.has("zz")) {
            const { type, object } = await watching.next();
            // ADDED is only for objects that are not in the list, MODIFIED and DELETED only for those that are.
            expect(type === "ADDED").toBe(!replayed.has(object.metadata.name));
            if (type === "DELETED") replayed.delete(object.metadata.name);
            else replayed.set(object.metadata.name, object);
          }
          watching.stop();
          expect(replayed).toEqual(last.objects);
        }
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 20) },
    );
  },
);
