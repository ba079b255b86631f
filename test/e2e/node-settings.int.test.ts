import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, execute, type Outcome, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const manifest = (shared: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec:
  containers: [{ name: main, image: host, command: [sh, -c, "echo here > /shared/note; sleep infinity"], volumeMounts: [{ name: shared, mountPath: /shared }] }]
  volumes: [{ name: shared, hostPath: { path: ${shared} } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { clusterIP: None, selector: { app: web }, ports: [{ port: 80 }] }
`;

describe.skipIf(reason !== undefined)("settings of the operator", () => {
  let box: Box;
  let shared: string;
  const kubectlWith = (stdin: string, ...words: string[]): Promise<Outcome> =>
    execute("kubectl", ["--kubeconfig", box.kubeconfig, ...words], stdin);
  const kubectl = (...words: string[]): Promise<Outcome> => kubectlWith("", ...words);

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    shared = mkdtempSync(join(tmpdir(), "shared-"));
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    rmSync(shared, { recursive: true });
  });

  test.for([
    [["--allow-host-path", "relative"], '"relative" is not an absolute path'],
    [["--runtime", "kata"], "write name=program"],
  ] as const)("invalid flags %j are refused and change nothing", async ([flags, message]) => {
    const { code, stderr } = await box.up(...flags);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(existsSync(box.kubeconfig)).toBe(false);
  });

  test("a file with an unknown field is refused and changes nothing", async () => {
    const file = join(box.dataDir, "config.json");
    writeFileSync(file, JSON.stringify({ node: { allow: { privilegd: true } } }));
    const { code, stderr } = await box.up();
    expect([code, stderr]).toEqual([1, expect.stringContaining(`Cannot use "${file}": node.allow.privilegd`)]);
    expect(existsSync(box.kubeconfig)).toBe(false);
    rmSync(file);
  });

  test("the box starts with its settings and warns about unsafe ones", async () => {
    const { code, stderr } = await box.up("--default-runtime", "runc", "--allow-host-path", shared);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining("Warning: Pods without runtimeClassName share this machine's kernel"),
    ]);
    await box.runWith(manifest(shared), "apply", "-f", "-");
    expect(await box.run("wait", "pod/web", "--for=condition=Ready", "--timeout=30s")).toMatchObject({ code: 0 });
    await expect.poll(() => existsSync(join(shared, "note"))).toBe(true);
  });

  test("status shows the runtime of each sandbox and marks a shared kernel", async () => {
    const sandbox = (name: string, runtimeClassName: string): object => ({
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name },
      spec: { podTemplate: { spec: { runtimeClassName, containers: [{ name: "main", image: "host" }] } } },
    });
    const items = [sandbox("apart", "gvisor"), sandbox("sharing", "runc")];
    await box.runWith(JSON.stringify({ apiVersion: "v1", kind: "List", items }), "apply", "-f", "-");
    for (const name of ["apart", "sharing"]) {
      const waited = await box.run("wait", `sandbox/${name}`, "--for=condition=Ready", "--timeout=60s");
      expect(waited).toMatchObject({ code: 0 });
    }
    const { stdout: wide } = await box.run("get", "sandboxes", "-o", "wide");
    expect(wide).toMatch(/^NAME .* RUNTIME /m);
    expect(wide).toMatch(/^apart .* gvisor /m);
    expect(wide).toMatch(/^sharing .* runc \(shared kernel\) /m);
    expect((await box.run("get", "sandboxes")).stdout).not.toContain("RUNTIME");
    expect((await box.run("get", "pod", "web", "-o", "wide")).stdout).toMatch(/^web .* runc \(shared kernel\)$/m);
    expect((await box.run("status")).stdout).toContain("runtimes    1 gvisor, 1 runc (shared kernel)");
    expect((await box.run("doctor")).stdout).toMatch(/^default +sharing +runc \(shared kernel\)$/m);
  });

  test("doctor counts saved memory and snapshots, which the node reports once a minute", async () => {
    const found = async (): Promise<string> => (await box.run("doctor")).stdout;
    await expect
      .poll(found, { timeout: 60_000, interval: 2000 })
      .toMatch(/^saved images of suspended sandboxes +0 +2000$/m);
    expect(await found()).toMatch(/^size of snapshots +0B +\d+\.\dGiB$/m);
  });

  test("attach and debug work with kubectl", async () => {
    const run = ["run", "once", "-i", "--rm", "--quiet", "--image=host", "--restart=Never", "--command", "--", "cat"];
    expect(await kubectlWith("hello\n", ...run)).toMatchObject({ code: 0, stdout: "hello\n" });
    const look = ["sh", "-c", "ps ax | grep -c '[s]leep infinity'; echo looked"];
    await kubectl("debug", "web", "--image=host", "--target=main", "-c", "debugger", "--", ...look);
    await expect
      .poll(async () => (await kubectl("logs", "web", "-c", "debugger")).stdout, { timeout: 20_000 })
      .toMatch(/^[1-9]\nlooked\n$/);
  });

  test("EndpointSlices and metrics are served", async () => {
    const address = (await kubectl("get", "pod", "web", "-o", "jsonpath={.status.podIP}")).stdout;
    const slices = ["get", "endpointslices", "-l", "kubernetes.io/service-name=web"];
    const behind = async (): Promise<string> =>
      (await kubectl(...slices, "-o", "jsonpath={.items[*].endpoints[*].addresses[0]}")).stdout;
    await expect.poll(behind, { timeout: 10_000 }).toBe(address);
    const figures = await kubectl("get", "--raw", `/api/v1/nodes/${hostname().toLowerCase()}/proxy/metrics/resource`);
    expect(figures.stdout).toMatch(/^pod_cpu_usage_seconds_total\{namespace="default",pod="web"\} 0\.\d+$/m);
  });
});
