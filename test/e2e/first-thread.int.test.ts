import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, type Outcome, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const example = "examples/first-sandbox.yaml";
const ok = (stdout: unknown, stderr: unknown = ""): Outcome => ({ code: 0, stdout, stderr }) as unknown as Outcome;

describe.skipIf(reason !== undefined)("the first sandbox", () => {
  let box: Box;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  test("a command without a running box says how to start it", async () => {
    const { code, stderr } = await box.run("get", "sandboxes");
    expect(code).toBe(1);
    expect(stderr).toContain("agent-sandbox up");
  });

  test("starts, applies, waits, and runs code inside", async () => {
    expect(await box.up()).toMatchObject({ code: 0 });
    expect(await box.run("apply", "-f", example)).toEqual(ok("sandbox.agents.x-k8s.io/my-sandbox created\n"));
    expect(await box.run("apply", "-f", example)).toEqual(ok("sandbox.agents.x-k8s.io/my-sandbox unchanged\n"));
    const waited = await box.run("wait", "sandbox/my-sandbox", "--for=condition=Ready", "--timeout=60s");
    expect(waited).toEqual(ok("sandbox.agents.x-k8s.io/my-sandbox condition met\n"));
    expect(await box.run("exec", "my-sandbox", "--", "hostname")).toEqual(ok("my-sandbox\n"));
  });

  test("shows the sandbox as kubectl would", async () => {
    const { stdout } = await box.run("get", "sandboxes");
    expect(stdout).toMatch(/^NAME\s+READY\s+REASON\s+AGE\nmy-sandbox\s+True\s+DependenciesReady\s+\d+s\n$/);
  });

  test("exec passes on standard input, both outputs and the exit code", async () => {
    const script = "cat; echo problem >&2; exit 3";
    const outcome = await box.runWith("line\n", "exec", "-i", "my-sandbox", "--", "sh", "-c", script);
    expect(outcome).toEqual({ code: 3, stdout: "line\n", stderr: "problem\n" });
  });

  test("a sandbox survives kill -9 of the box with its process and files", async () => {
    await box.run("exec", "my-sandbox", "--", "sh", "-c", "echo kept > /root/note");
    const before = await sandboxIdentity(box);
    process.kill(box.pid(), "SIGKILL");
    expect(await box.up()).toMatchObject({ code: 0 });
    expect(await sandboxIdentity(box)).toEqual(before);
    expect(await box.run("exec", "my-sandbox", "--", "cat", "/root/note")).toEqual(ok("kept\n"));
  });

  test("a second up says that the box already runs", async () => {
    const { code, stdout } = await box.up();
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("already running") });
  });

  test("a sandbox with a Service has its DNS name in the status", async () => {
    const manifest = readFileSync(example, "utf8")
      .replace("my-sandbox", "served")
      .replace("spec:", "spec:\n  service: true");
    await box.runWith(manifest, "apply", "-f", "-");
    await box.run("wait", "sandbox/served", "--for=condition=Ready", "--timeout=60s");
    const { stdout } = await box.run("get", "sandbox", "served", "-o", "yaml");
    expect(stdout).toContain("serviceFQDN: served.default.svc.cluster.local");
  });

  test("suspends and resumes through the older version of the API, with a warning", async () => {
    const older = readFileSync(example, "utf8").replace("/v1beta1", "/v1alpha1");
    expect(await box.runWith(older.replace("spec:", "spec:\n  replicas: 0"), "apply", "-f", "-")).toEqual(
      ok("sandbox.agents.x-k8s.io/my-sandbox configured\n", expect.stringContaining("v1alpha1 Sandbox is deprecated")),
    );
    const suspended = await box.run("wait", "sandbox/my-sandbox", "--for=condition=Suspended", "--timeout=60s");
    expect(suspended).toMatchObject({ code: 0 });
    expect((await box.run("get", "pods")).stdout).not.toContain("my-sandbox");
    await box.runWith(older.replace("spec:", "spec:\n  replicas: 1"), "apply", "-f", "-");
    expect(await box.run("wait", "sandbox/my-sandbox", "--for=condition=Ready", "--timeout=60s")).toMatchObject({
      code: 0,
    });
  });

  test("down --purge leaves nothing on the machine", async () => {
    const pid = await monitorsOf(box);
    expect(pid.length).toBeGreaterThan(0);
    expect(await box.run("down", "--purge")).toMatchObject({ code: 0 });
    expect(await monitorsOf(box)).toEqual([]);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(box.dataDir);
    expect(existsSync(box.dataDir)).toBe(false);
  });
});

/** The sandbox's process and its start time, which must not change while the box is down. */
async function sandboxIdentity(box: Box): Promise<string> {
  const script = "cut -d ' ' -f 22 /proc/1/stat; readlink /proc/1/ns/pid";
  // The API server is ready before the node has found all Pods.
  for (let attempt = 0; attempt < 50; attempt++) {
    const { code, stdout } = await box.run("exec", "my-sandbox", "--", "sh", "-c", script);
    if (code === 0) return stdout;
    await sleep(100);
  }
  throw new Error("the sandbox does not answer");
}

/** Processes with the box's data folder on their command line: monitors and leftovers. */
async function monitorsOf(box: Box): Promise<number[]> {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(box.dataDir);
      } catch {
        return false;
      }
    })
    .map(Number);
}
