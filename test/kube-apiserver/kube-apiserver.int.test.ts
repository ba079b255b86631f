import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubernetesModule } from "../../packages/api/generate/kubernetes-definitions.ts";
import { installCrds } from "./install-crds.ts";
import { type Kubernetes, startKubernetes } from "./start.ts";

const minutes = 60_000;
/** The first start on a machine compiles Kubernetes. */
const firstStart = 60 * minutes;

function configMap(name: string, metadata: object = {}): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
    data: { key: "value" },
  });
}

test("the binaries have the release of the types in our CRDs", () => {
  const goMod = readFileSync(`${import.meta.dirname}/go.mod`, "utf8");
  expect(/k8s\.io\/kubernetes (v\S+)/.exec(goMod)?.[1]).toBe(kubernetesModule.version);
});

describe("a cluster with default options", () => {
  let kubernetes: Kubernetes;

  beforeAll(async () => {
    kubernetes = await startKubernetes({ users: [{ name: "alice" }, { name: "bob", groups: ["readers"] }] });
  }, firstStart);
  afterAll(() => kubernetes.stop());

  async function kubectl(words: readonly string[], stdin = ""): Promise<string> {
    const { code, stdout, stderr } = await kubernetes.kubectl(words, { stdin });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  }

  test("client and server report the pinned version", async () => {
    const { clientVersion, serverVersion } = JSON.parse(await kubectl(["version", "-o", "json"]));
    const versions = [clientVersion, serverVersion].map(({ gitVersion, major, minor }) => ({
      gitVersion,
      major,
      minor,
    }));
    const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(kubernetesModule.version) ?? [];
    const pinned = { gitVersion: kubernetesModule.version, major, minor };
    expect(versions).toEqual([pinned, pinned]);
  });

  test("has the default namespaces", async () => {
    const names = await kubectl(["get", "namespaces", "-o", "name"]);
    expect(names.trim().split("\n")).toEqual(
      ["default", "kube-node-lease", "kube-public", "kube-system"].map((name) => `namespace/${name}`),
    );
  });

  test("stores applied objects", async () => {
    expect(await kubectl(["apply", "-f", "-"], configMap("kept"))).toBe("configmap/kept created\n");
    expect(await kubectl(["apply", "-f", "-"], configMap("kept"))).toBe("configmap/kept unchanged\n");
    expect(await kubectl(["get", "configmap", "kept", "-o", "jsonpath={.data.key}"])).toBe("value");
  });

  test("streams a list as a watch, which needs an etcd with progress reports", async () => {
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const lines = await kubectl(["get", "--raw", `/api/v1/namespaces?${query}&timeoutSeconds=1`]);
    const events = lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as WatchEvent);
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "ADDED", "ADDED", "BOOKMARK"]);
    expect(events.at(-1)?.object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
  });

  test("deletes dependents of a deleted owner", async () => {
    await kubectl(["create", "-f", "-"], configMap("owner"));
    const uid = await kubectl(["get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}"]);
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    await kubectl(["create", "-f", "-"], configMap("dependent", { ownerReferences }));
    await kubectl(["delete", "configmap", "owner"]);
    await kubectl(["wait", "--for=delete", "configmap/dependent", "--timeout=60s"]);
    expect((await kubernetes.kubectl(["get", "configmap", "dependent"])).stderr).toContain("not found");
  });

  test("deletes the objects of a deleted namespace", async () => {
    await kubectl(["create", "namespace", "short-lived"]);
    await kubectl(["create", "-n", "short-lived", "-f", "-"], configMap("inside"));
    await kubectl(["delete", "namespace", "short-lived", "--timeout=60s"]);
    expect((await kubernetes.kubectl(["get", "namespace", "short-lived"])).stderr).toContain("not found");
  });

  test("authenticates users by certificate and by token", async () => {
    const bob = kubernetes.user("bob");
    const whoami = ["auth", "whoami", "-o", "json"];
    const login = ["--kubeconfig=/dev/null", `--server=${kubernetes.url}`, `--token=${bob.token}`];
    const authority = `--certificate-authority=${kubernetes.authority.certificate}`;
    const byCertificate = await kubernetes.kubectl(whoami, { user: bob });
    const byToken = await kubernetes.kubectl([...login, authority, ...whoami]);
    for (const { stdout } of [byCertificate, byToken]) {
      const { username, groups } = JSON.parse(stdout).status.userInfo;
      expect({ username, groups }).toEqual({ username: "bob", groups: ["readers", "system:authenticated"] });
    }
  });

  test("authorizes users by RBAC", async () => {
    const alice = kubernetes.user("alice");
    const asAlice = (...words: string[]) => kubernetes.kubectl(words, { user: alice });
    expect((await asAlice("get", "configmaps")).stderr).toContain('User "alice" cannot list resource "configmaps"');
    await kubectl(["create", "role", "list-config-maps", "--verb=list", "--resource=configmaps"]);
    await kubectl(["create", "rolebinding", "alice-lists", "--role=list-config-maps", "--user=alice"]);
    await expect.poll(async () => (await asAlice("get", "configmaps")).code, { timeout: minutes }).toBe(0);
    expect((await asAlice("delete", "configmap", "kept")).stderr).toContain("Forbidden");
  });
});

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly annotations?: Record<string, string> } };
}

describe("options", () => {
  const auditLog = join(tmpdir(), `audit-${process.pid}.log`);
  let kubernetes: Kubernetes;

  beforeAll(async () => {
    const inFlight = { reading: 20, writing: 10 };
    kubernetes = await startKubernetes({ etcd: "disk", inFlight, auditLog, serviceAccounts: true });
  }, firstStart);
  afterAll(async () => {
    await kubernetes.stop();
    rmSync(auditLog);
  });

  test("the audit log has one line per request, without its body", async () => {
    await kubernetes.kubectl(["create", "-f", "-"], { stdin: configMap("audited") });
    const events = readFileSync(auditLog, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AuditEvent);
    const ours = events.filter(({ verb, objectRef }) => verb === "create" && objectRef?.name === "audited");
    expect(ours).toMatchObject([{ level: "Metadata", stage: "ResponseComplete", user: { username: "admin" } }]);
    expect(ours[0]).not.toHaveProperty("requestObject");
  });

  test("the limits of concurrent requests are divided among the priority levels", async () => {
    const { stdout } = await kubernetes.kubectl(["get", "--raw", "/metrics"]);
    const seats = [...stdout.matchAll(/^apiserver_flowcontrol_nominal_limit_seats\{.*\} (\d+)$/gm)].map(([, n]) =>
      Number(n),
    );
    const total = seats.reduce((sum, n) => sum + n, 0);
    expect(total).toBeGreaterThanOrEqual(30);
    // The share of each level is rounded up.
    expect(total).toBeLessThanOrEqual(30 + seats.length);
  });

  test("a namespace gets its service account", async () => {
    await kubernetes.kubectl(["create", "namespace", "with-account"]);
    const created = await kubernetes.kubectl(["wait", "--for=create", "serviceaccount/default", "-n", "with-account"]);
    expect(created).toMatchObject({ code: 0 });
  });

  test("CRDs without a webhook serve only the storage version", async () => {
    await installCrds(kubernetes);
    const stored = await kubernetes.kubectl(["get", "sandboxes.v1beta1.agents.x-k8s.io"]);
    expect(stored).toEqual({ code: 0, stdout: "", stderr: "No resources found in default namespace.\n" });
    const older = await kubernetes.kubectl(["get", "sandboxes.v1alpha1.agents.x-k8s.io"]);
    expect(older.stderr).toContain("the server doesn't have a resource type");
  });
});

interface AuditEvent {
  readonly verb: string;
  readonly objectRef?: { readonly name?: string };
}

describe("cleanup", () => {
  /** Zombies do not count as alive, because some init processes never reap them. */
  const alive = (pid: number): boolean => {
    try {
      return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch {
      return false;
    }
  };

  test("a stop leaves no process and no folder", { timeout: 5 * minutes }, async () => {
    const kubernetes = await startKubernetes();
    const { etcd, apiServer, controllerManager, folder, etcdFolder } = kubernetes;
    const pids = [etcd, apiServer, controllerManager].map((process) => process?.pid ?? 0);
    expect([pids.map(alive), existsSync(folder), existsSync(etcdFolder)]).toEqual([[true, true, true], true, true]);
    await kubernetes.stop();
    await kubernetes.stop();
    expect([pids.map(alive), existsSync(folder), existsSync(etcdFolder)]).toEqual([
      [false, false, false],
      false,
      false,
    ]);
  });

  test("kill -9 of the parent leaves no process and no folder", { timeout: 5 * minutes }, async () => {
    const runner = spawn(process.execPath, ["--conditions=source", `${import.meta.dirname}/run.ts`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface(runner.stdout), "line")) as [string];
    const { pids, folder, etcdFolder } = JSON.parse(line) as { pids: number[]; folder: string; etcdFolder: string };
    const left = () => [...pids.filter(alive), ...[folder, etcdFolder].filter((path) => existsSync(path))];
    expect(left()).toHaveLength(5);
    runner.kill("SIGKILL");
    await expect.poll(left, { timeout: minutes }).toEqual([]);
  });

  test("a failed start reports the reason", { timeout: 5 * minutes }, async () => {
    const started = startKubernetes({ apiServerFlags: ["--no-such-flag"] });
    await expect(started).rejects.toThrow(/kube-apiserver exited\n.*unknown flag: --no-such-flag/s);
  });
});
