import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer } from "./index.ts";
import { FakePodStreams } from "./streams/fake-pod-streams.test.support.ts";

const kubectlPath = "/usr/bin/kubectl";
const available = existsSync(kubectlPath);
if (!available) console.warn(`skipped: ${kubectlPath} is not installed`);

let folder: string;
let server: ApiServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-kubectl-"));
  server = await createApiServer({ dataDir: join(folder, "data"), nodeName: "box", podStreams: new FakePodStreams() });
  const listening = await server.listen();
  listening.writeKubeconfig(join(folder, "kubeconfig"));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const common = (): string[] => [`--kubeconfig=${join(folder, "kubeconfig")}`, `--cache-dir=${join(folder, "cache")}`];

async function kubectl(args: readonly string[], input = ""): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(kubectlPath, [...common(), ...args], { timeout: 30_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
    });
    child.stdin?.end(input);
  });
}

const podYaml = (name: string, extra = ""): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: demo}}
spec:
  containers: [{name: main, image: "busybox:1"}]
${extra}`;

const sandboxYaml = (name: string, mode = "Running"): string => `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: {name: ${name}}
spec:
  operatingMode: ${mode}
  podTemplate: {spec: {containers: [{name: main, image: "busybox:1"}]}}
`;

async function setStatus(path: string, status: object): Promise<void> {
  const headers = { "content-type": "application/merge-patch+json" };
  const answer = await server.transport.send({ method: "PATCH", path: `${path}/status`, headers, body: { status } });
  expect(answer.status).toBe(200);
}

describe.skipIf(!available)("kubectl", () => {
  test("discovers the resources of the server", async () => {
    const { out } = await kubectl(["api-resources", "-o", "name"]);
    expect(out.split("\n")).toEqual(
      expect.arrayContaining([
        "pods",
        "sandboxes.agents.x-k8s.io",
        "sandboxwarmpools.extensions.agents.x-k8s.io",
        "leases.coordination.k8s.io",
      ]),
    );
    expect((await kubectl(["version"])).out).toContain("Server Version: v1.");
    expect(statSync(join(folder, "kubeconfig")).mode & 0o777).toBe(0o600);
  });

  test("creates, reads and deletes", async () => {
    expect(await kubectl(["create", "--validate=false", "-f", "-"], podYaml("web"))).toMatchObject({
      code: 0,
      out: "pod/web created\n",
    });
    const { out } = await kubectl(["get", "pods", "-o", "wide"]);
    expect(out.split("\n").map((line) => line.split(/\s{2,}/))).toEqual([
      ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"],
      ["web", "0/1", "Pending", "0", expect.any(String), "<none>", "box", "<none>", "<none>"],
      [""],
    ]);
    expect((await kubectl(["get", "pod", "web", "-o", "jsonpath={.spec.restartPolicy}/{.status.qosClass}"])).out).toBe(
      "Always/BestEffort",
    );
    expect((await kubectl(["get", "po", "-l", "app in (demo),!missing", "-o", "name"])).out).toBe("pod/web\n");
    expect((await kubectl(["describe", "pod", "web"])).out).toContain("Node:             box");
    expect(await kubectl(["delete", "pod", "web", "--grace-period=0", "--force"])).toMatchObject({ code: 0 });
    expect(await kubectl(["get", "pod", "web"])).toMatchObject({
      code: 1,
      err: 'Error from server (NotFound): pods "web" not found\n',
    });
  });

  test("applies a new object, the same one again, and a change", async () => {
    const apply = async (yaml: string): Promise<string> =>
      (await kubectl(["apply", "--validate=false", "-f", "-"], yaml)).out;
    expect(await apply(sandboxYaml("demo"))).toBe("sandbox.agents.x-k8s.io/demo created\n");
    expect(await apply(sandboxYaml("demo"))).toBe("sandbox.agents.x-k8s.io/demo unchanged\n");
    expect(await apply(sandboxYaml("demo", "Suspended"))).toBe("sandbox.agents.x-k8s.io/demo configured\n");
    expect(
      (await kubectl(["get", "sandbox", "demo", "-o", "jsonpath={.spec.operatingMode} {.metadata.generation}"])).out,
    ).toBe("Suspended 2");
    const columns = (await kubectl(["get", "sandboxes"])).out.split("\n")[0]?.trim().split(/\s+/);
    expect(columns).toEqual(["NAME", "READY", "REASON", "AGE"]);
  });

  test("shows the problems of an object by field", async () => {
    const { code, err } = await kubectl(
      ["create", "--validate=false", "-f", "-"],
      podYaml("bad", "  restartPolicy: Sometimes"),
    );
    expect(code).toBe(1);
    expect(err).toContain('The Pod "bad" is invalid: spec.restartPolicy: Unsupported value: "Sometimes"');
  });

  test("patches, labels, annotates and scales", async () => {
    await kubectl(["create", "--validate=false", "-f", "-"], sandboxYaml("patched"));
    expect(
      (await kubectl(["patch", "sandbox", "patched", "--type=merge", "-p", '{"spec":{"shutdownPolicy":"Delete"}}']))
        .out,
    ).toContain("patched");
    expect(
      (
        await kubectl([
          "patch",
          "sandbox",
          "patched",
          "--type=json",
          "-p",
          '[{"op":"replace","path":"/spec/shutdownPolicy","value":"Retain"}]',
        ])
      ).code,
    ).toBe(0);
    expect((await kubectl(["label", "sandbox", "patched", "a=b"])).code).toBe(0);
    expect((await kubectl(["annotate", "sandbox", "patched", "a=b"])).code).toBe(0);
    const old = await kubectl(["scale", "--replicas=0", "sandboxes.v1alpha1.agents.x-k8s.io/patched"]);
    expect(old.err).toContain("Warning: agents.x-k8s.io/v1alpha1 Sandbox is deprecated");
    expect((await kubectl(["get", "sandbox", "patched", "-o", "jsonpath={.spec.operatingMode}"])).out).toBe(
      "Suspended",
    );
  });

  test("watches a table", async () => {
    const child = spawn(kubectlPath, [...common(), "get", "pods", "-w", "-l", "app=demo"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await kubectl(["create", "--validate=false", "-f", "-"], podYaml("watched"));
    const read = async (): Promise<string[]> =>
      String((await lines.next()).value)
        .trim()
        .split(/\s+/);
    expect(await read()).toEqual(["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    expect((await read()).slice(0, 3)).toEqual(["watched", "0/1", "Pending"]);
    await setStatus("/api/v1/namespaces/default/pods/watched", { phase: "Running" });
    expect((await read()).slice(0, 3)).toEqual(["watched", "0/1", "Running"]);
    child.kill();
    await once(child, "exit");
    await kubectl(["delete", "pod", "watched", "--grace-period=0", "--force"]);
  });

  test("waits for a condition", async () => {
    await kubectl(["create", "--validate=false", "-f", "-"], sandboxYaml("awaited"));
    const waiting = kubectl(["wait", "sandbox/awaited", "--for=condition=Ready", "--timeout=20s"]);
    const condition = {
      type: "Ready",
      status: "True",
      reason: "Up",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    await setStatus("/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes/awaited", { conditions: [condition] });
    expect(await waiting).toMatchObject({ code: 0, out: "sandbox.agents.x-k8s.io/awaited condition met\n" });
  });

  test("creates a namespace, and deletes it with its objects", async () => {
    const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
    await kubectl(["create", "--validate=false", "-f", "-"], namespace);
    await kubectl(["create", "--validate=false", "-n", "team", "-f", "-"], sandboxYaml("inside"));
    expect(await kubectl(["delete", "namespace", "team", "--timeout=20s"])).toMatchObject({
      code: 0,
      out: 'namespace "team" deleted\n',
    });
    expect((await kubectl(["get", "sandbox", "-n", "team"])).err).toContain("No resources found");
  });

  test("runs commands with their input, output and exit code", async () => {
    await kubectl(["create", "--validate=false", "-f", "-"], podYaml("runner"));
    const main = { name: "main", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
    await setStatus("/api/v1/namespaces/default/pods/runner", { phase: "Running", containerStatuses: [main] });
    expect(await kubectl(["exec", "runner", "--", "both"])).toEqual({
      code: 0,
      out: "to stdout\n",
      err: "to stderr\n",
    });
    expect(await kubectl(["exec", "runner", "--", "fail", "7"])).toMatchObject({ code: 7 });
    expect(await kubectl(["exec", "-i", "runner", "--", "cat"], "through and back")).toEqual({
      code: 0,
      out: "through and back",
      err: "",
    });
    expect((await kubectl(["exec", "runner", "-c", "other", "--", "both"])).err).toContain(
      "container other is not valid",
    );
  });
});
