import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Resource } from "@agent-sandbox/kube";
import { beforeAll, describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { changes, type Snapshot, snapshot } from "./monitor.ts";
import { until } from "./until.ts";
import { claims } from "./victim.ts";
import { noWorld } from "./why-no-world.ts";

const volumes: Resource = {
  apiVersion: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
};
const namespaces: Resource = { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };
const wanted = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Mi" } } };

/** Replaces folders by links to a folder of the machine, as fast as it can. */
const swap = (target: string): string => `
import os
for name in range(40):
    os.makedirs(f"/v/{name}/deep", exist_ok=True)
    for file in range(20): open(f"/v/{name}/private{file or ''}", "w")
while True:
    for name in range(40):
        try:
            os.rename(f"/v/{name}", "/v/aside")
            os.symlink("${target}", f"/v/{name}")
            os.unlink(f"/v/{name}")
            os.rename("/v/aside", f"/v/{name}")
        except OSError: pass
`;

describe.skipIf(noWorld)("volumes of tenants", () => {
  const setup = useAttacker();
  let before: Snapshot;
  beforeAll(async () => {
    before = await snapshot(setup.world.box);
  });

  const main = (script: string) => ({
    name: "main",
    image: "host",
    command: ["sh", "-c", script],
    volumeMounts: [{ name: "v", mountPath: "/v" }],
  });
  const podWith = (claimName: string, script = "exec sleep infinity") => ({
    containers: [main(script)],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName } }],
  });

  test.for(["gvisor", "runc"] as const)(
    "a volume is reclaimed while its last container under %s replaces folders by links to the machine",
    async (runtime, { skip }) => {
      if (!setup.world.runtimes.includes(runtime)) skip();
      const { metadata } = await setup.mallory.create(claims, `race-${runtime}`, { spec: wanted });
      const folder = join(setup.world.box.dataDir, "node/volumes", metadata?.uid ?? "");
      const script = `exec python3 -c '${swap(setup.world.machine.sentinel).replaceAll("'", `'"'"'`)}'`;
      await setup.mallory.runPod(runtime, { runtime, spec: podWith(`race-${runtime}`, script) });
      await until(() => (existsSync(join(folder, "39")) ? true : undefined));
      const key = { namespace: setup.mallory.namespace, name: `race-${runtime}` };
      await setup.mallory.client.delete(claims, key);
      // A tenant can remove the finalizer instead of waiting.
      await setup.mallory.client.patch(claims, key, { type: "merge", body: { metadata: { finalizers: null } } });
      expect(existsSync(join(folder, "39")) || existsSync(join(folder, "aside"))).toBe(true);
      await setup.mallory.removePod(runtime);
      await until(() => (existsSync(folder) ? undefined : true));
      expect(await readdir(setup.world.machine.sentinel)).toEqual(["private"]);
    },
  );

  test("a deleted claim keeps its files while a Pod uses them", async () => {
    await setup.mallory.create(claims, "busy", { spec: wanted });
    await setup.mallory.runPod("busy", { spec: podWith("busy") });
    await setup.mallory.shell("busy", "echo mine >/v/file");
    const key = { namespace: setup.mallory.namespace, name: "busy" };
    await setup.mallory.client.delete(claims, key);
    const { metadata } = await setup.mallory.client.get(claims, key);
    expect(metadata).toMatchObject({ finalizers: ["kubernetes.io/pvc-protection"], deletionTimestamp: /./ });
    expect(await setup.mallory.shell("busy", "cat /v/file")).toBe("mine");
    await setup.mallory.removePod("busy");
    await until(() =>
      setup.mallory.client.get(claims, key).then(
        () => undefined,
        () => true,
      ),
    );
  });

  test("a namespace with a claim in use can be deleted, and leaves no files", async () => {
    await using leaver = await setup.world.tenant("leaver");
    const { metadata } = await leaver.create(claims, "held", { spec: wanted });
    await leaver.runPod("held", { spec: podWith("held") });
    const key = { name: leaver.namespace };
    await setup.world.admin.client.delete(namespaces, key);
    await until(() =>
      setup.world.admin.client.get(namespaces, key).then(
        () => undefined,
        () => true,
      ),
    );
    const folder = join(setup.world.box.dataDir, "node/volumes", metadata?.uid ?? "");
    expect(await until(() => (existsSync(folder) ? undefined : true))).toBe(true);
  });

  test("a claim that names the victim's volume is never bound to it", async () => {
    const volumeName = `pvc-${setup.world.alice.record.uids["ledger"]}`;
    await setup.mallory.create(claims, "stolen", { spec: { ...wanted, volumeName } });
    await setup.mallory.createPod("stolen", { spec: podWith("stolen") });
    await until(async () =>
      (await setup.mallory.events("stolen")).join().includes("is not bound yet") ? true : undefined,
    );
    const { status, spec } = await setup.mallory.client.get(claims, {
      namespace: setup.mallory.namespace,
      name: "stolen",
    });
    expect([status?.phase, spec?.volumeName]).toEqual(["Pending", volumeName]);
    const volume = await setup.world.admin.client.get(volumes, { name: volumeName });
    expect(volume).toMatchObject({
      spec: { claimRef: { namespace: "alice", name: "ledger" } },
      status: { phase: "Bound" },
    });
    await setup.mallory.removePod("stolen");
  });

  test("a tenant cannot write the status of a claim, PersistentVolumes or StorageClasses", async () => {
    const own = `/api/v1/namespaces/${setup.mallory.namespace}/persistentvolumeclaims`;
    const body = { status: { phase: "Bound" } };
    const merge = { "content-type": "application/merge-patch+json" };
    const victims = `/api/v1/persistentvolumes/pvc-${setup.world.alice.record.uids["ledger"]}`;
    const hostPath = { metadata: { name: "etc" }, spec: { hostPath: { path: "/etc" }, capacity: { storage: "1Gi" } } };
    const asked = await Promise.all([
      setup.mallory.request("PATCH", `${own}/stolen/status`, body, merge),
      setup.mallory.request("POST", "/api/v1/persistentvolumes", hostPath),
      setup.mallory.request("PATCH", victims, { spec: { claimRef: null } }, merge),
      setup.mallory.request("DELETE", victims),
      setup.mallory.request("POST", "/apis/storage.k8s.io/v1/storageclasses", {
        metadata: { name: "x" },
        provisioner: "x",
      }),
    ]);
    expect(asked.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
  });

  test("a folder of the machine is not mounted", async () => {
    const spec = { containers: [main("ls /v")], volumes: [{ name: "v", hostPath: { path: "/" } }] };
    await setup.mallory.createPod("host-path", { spec });
    const { status } = await setup.mallory.podUntil(
      "host-path",
      ({ status: seen }) =>
        /./.test(seen?.message ?? "") ||
        seen?.phase === "Failed" ||
        seen?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
    );
    expect(JSON.stringify(status)).toContain("is not allowed by this node's configuration");
    await setup.mallory.removePod("host-path");
  });

  test.for([
    ["a path of a ConfigMap's key", { configMap: { name: "c", items: [{ key: "k", path: "../../etc/x" }] } }],
    ["an absolute path", { configMap: { name: "c", items: [{ key: "k", path: "/etc/x" }] } }],
    [
      "a path of the downward API",
      { downwardAPI: { items: [{ path: "a/../../x", fieldRef: { fieldPath: "metadata.name" } }] } },
    ],
    ["a path of a token", { projected: { sources: [{ serviceAccountToken: { path: "../x" } }] } }],
    ["a mode beyond the file's", { configMap: { name: "c", defaultMode: 0o4755 } }],
  ] as const)("a volume with %s out of it is refused", async ([, source]) => {
    const spec = { containers: [main("true")], volumes: [{ name: "v", ...source }] };
    await expect(setup.mallory.createPod("outside", { spec: spec as object })).rejects.toMatchObject({ code: 422 });
  });

  test.for([
    ["hostAliases address", { hostAliases: [{ ip: "1.2.3.4\n9.9.9.9 web", hostnames: ["a"] }] }],
    ["hostAliases name", { hostAliases: [{ ip: "1.2.3.4", hostnames: ["a\n9.9.9.9 web"] }] }],
    ["name server", { dnsConfig: { nameservers: ["1.1.1.1\nsearch evil"] } }],
    ["search path", { dnsConfig: { searches: ["a\nnameserver 1.1.1.1"] } }],
    ["host name", { hostname: "a\nb" }],
    ["subdomain", { subdomain: "a\nb" }],
  ] as const)("a %s with a second line is refused", async ([, part]) => {
    await expect(
      setup.mallory.createPod("lines", { spec: { containers: [{ name: "main", image: "host" }], ...part } as object }),
    ).rejects.toMatchObject({ code: 422 });
  });

  test("nothing has changed on the machine or for the victim", async () => {
    expect(changes(before, await snapshot(setup.world.box))).toEqual([]);
    expect(await setup.world.alice.harm()).toEqual([]);
  });
});
