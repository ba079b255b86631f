import type { Pod } from "@agent-sandbox/api";
import { createClient, Informers } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { configMaps, secrets } from "../resources.ts";
import { Sources } from "./sources.ts";

const metadata = { namespace: "n", name: "p", labels: { a: "1" } };
const showing = (name: string): Pod => ({
  metadata,
  spec: { containers: [], volumes: [{ name: "v", configMap: { name } }] },
});

test("a new Pod sees the stored objects even if the watch lags, and later changes are reported", async () => {
  const server = new MemoryApiServer({ resources: [configMaps, secrets] });
  const client = createClient(server);
  await using informers = new Informers({ client });
  const changed: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  using sources = new Sources({
    client,
    informers,
    onChange: (key) => {
      changed.push(key);
      resolve();
    },
  });
  const pod = showing("settings");
  expect(sources.snapshot({ metadata, spec: { containers: [] } }).version).toBe("");
  expect(server.openWatches).toBe(0);
  await sources.refresh(pod);
  const before = sources.snapshot(pod);
  expect(before.configMap("settings")).toBeUndefined();

  server.watchDelayMs = () => 50;
  await client.create(configMaps, { metadata: { namespace: "n", name: "settings" }, data: { k: "1" } });
  await sources.refresh(pod);
  const after = sources.snapshot(pod);
  expect([after.configMap("settings")?.data, after.version === before.version]).toEqual([{ k: "1" }, false]);
  await client.patch(configMaps, { namespace: "n", name: "settings" }, { type: "merge", body: { data: { k: "2" } } });
  await promise;
  expect(changed[0]).toBe("ConfigMap/n/settings");
});

test("the version depends on labels if a volume contains them", () => {
  const sources = new Sources({ client: undefined as never, informers: undefined as never, onChange: () => undefined });
  const pod = (label: string): Pod => ({
    metadata: { ...metadata, labels: { a: label } },
    spec: { containers: [], volumes: [{ name: "v", downwardAPI: { items: [] } }] },
  });
  expect(sources.snapshot(pod("1")).version).not.toBe(sources.snapshot(pod("2")).version);
});
