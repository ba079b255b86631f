import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "./clock.ts";
import { createApiServer } from "./index.ts";
import { silentLogger } from "./logger.ts";
import { openStore } from "./store/open-store.ts";
import { configMap, configMaps, pod, pods, TestApi } from "./testing/test-api.test.support.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("createApiServer()", () => {
  test("keeps its objects and revisions after a restart", async () => {
    const first = await TestApi.start({ dataDir: folder });
    const created = await first.create(configMaps, configMap("kept"));
    await first.create(configMaps, configMap("gone"));
    await first.send("DELETE", `${configMaps}/gone`);
    await first.server.close();
    await using second = await TestApi.start({ dataDir: folder });
    expect(await second.get(`${configMaps}/kept`)).toEqual(created);
    const watching = await second.watch(`${configMaps}?watch=true&resourceVersion=${created.metadata.resourceVersion}`);
    expect(await watching.seen(2)).toEqual(["ADDED gone", "DELETED gone"]);
    const next = await second.create(configMaps, configMap("next"));
    expect(Number(next.metadata.resourceVersion)).toBe(Number(created.metadata.resourceVersion) + 3);
  });

  test("collects garbage at its start", async () => {
    const first = await TestApi.start({ dataDir: folder });
    const owner = await first.create(configMaps, configMap("owner"));
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }];
    await first.create(pods, pod("child", { ownerReferences }));
    await first.server.close();
    const store = openStore(folder, { clock: systemClock, logger: silentLogger });
    await store.write(() => ({
      write: { resource: "configmaps", key: "default/owner", object: undefined },
      result: undefined,
    }));
    await store.close();
    await using second = await TestApi.start({ dataDir: folder });
    await second.gone(pods, "child");
    expect(await second.names(pods)).toEqual([]);
  });

  test("continues to delete a namespace after a restart", async () => {
    const first = await TestApi.start({ dataDir: folder, nodeName: "box" });
    await first.create("/api/v1/namespaces", { metadata: { name: "team" } });
    await first.create("/api/v1/namespaces/team/pods", pod("slow"));
    await first.send("DELETE", "/api/v1/namespaces/team");
    await first.server.close();
    await using second = await TestApi.start({ dataDir: folder, nodeName: "box" });
    await second.send("DELETE", "/api/v1/namespaces/team/pods/slow", { gracePeriodSeconds: 0 });
    await second.gone("/api/v1/namespaces", "team");
    expect(await second.names("/api/v1/namespaces")).not.toContain("team");
  });

  test("refuses a data folder that another server uses, which keeps working", async () => {
    await using first = await TestApi.start({ dataDir: folder });
    await expect(createApiServer({ dataDir: folder })).rejects.toThrow(/is in use by process \d+/);
    expect(await first.names("/api/v1/namespaces")).toHaveLength(5);
  });

  test("answers an unexpected error with a Status, and logs it", async () => {
    const logged: unknown[] = [];
    const clock = { now: (): number => Date.now() };
    await using api = await TestApi.start({
      clock,
      logger: { ...silentLogger, error: (fields) => logged.push(fields) },
    });
    clock.now = () => {
      throw new Error("the clock is broken");
    };
    expect(await api.send("POST", configMaps, configMap("a"))).toMatchObject({
      status: 500,
      body: { reason: "InternalError" },
    });
    expect(logged).toMatchObject([{ method: "POST", path: configMaps }]);
    clock.now = () => Date.now();
  });

  test("writes a kubeconfig that only its owner can read", async () => {
    await using server = await createApiServer();
    const listening = await server.listen();
    const path = join(folder, "kubeconfig");
    listening.writeKubeconfig(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
      clusters: [{ cluster: { server: listening.url } }],
      users: [{ user: { token: listening.token } }],
      "current-context": "agent-sandbox",
    });
    await expect(server.listen()).rejects.toThrow("the server listens already");
  });
});
