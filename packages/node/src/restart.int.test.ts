import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, type TestContext, test } from "vitest";
import { createNode, removeNode } from "./create-node.ts";
import { layoutOf } from "./layout.ts";
import { podRecords } from "./pod/record.ts";
import { cannotRun, testedRuntimes } from "./testing/runtimes.ts";
import { severalContainers } from "./testing/several.ts";
import { isReady, nodeName, openTestApi } from "./testing/test-api.ts";
import { findShared, findTraces, noTraces } from "./testing/traces.ts";

const script = fileURLToPath(new URL("testing/node-process.ts", import.meta.url));

/** Starts a node in its own process and waits until it prints a line. */
async function startProcess(
  dataDir: string,
  podCount: number,
  word: string,
  kind: "single" | "several" = "single",
  runtime = "runc",
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--conditions=source", script, dataDir, String(podCount), kind, runtime], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) if (line === word) return child;
  throw new Error(`Cannot wait for "${word}": the process ended with ${child.exitCode}`);
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

const mainRun = async (dataDir: string): Promise<{ pid: number | undefined; attempt: number | undefined }> => {
  const [record] = [...(await podRecords(layoutOf(dataDir)).list()).values()];
  return { pid: record?.containers["main"]?.run?.process.pid, attempt: record?.containers["main"]?.attempt };
};

/** A data folder for one test. Its node is removed when the test ends. */
async function makeDataDir({ onTestFinished }: Pick<TestContext, "onTestFinished">): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "node-int-"));
  onTestFinished(async () => {
    await removeNode({ dataDir });
    await rm(dataDir, { recursive: true, force: true });
  }, 120_000);
  return dataDir;
}

describe.skipIf(cannotRun).concurrent("a node that is killed", () => {
  test("finds its Pods running, ends abandoned exec sessions, and sees containers that ended in the meantime", async (context) => {
    const dataDir = await makeDataDir(context);
    await kill(await startProcess(dataDir, 1, "running"));
    const before = await mainRun(dataDir);
    const sleeping = async (): Promise<number> =>
      (await findTraces(dataDir)).processes.filter((line) => line.includes("sleep 4242")).length;
    expect(await sleeping()).toBeGreaterThan(0);

    const api = openTestApi();
    await api.create("pod-0");
    const node = await createNode({ client: api.client, defaultRuntime: "runc", nodeName, dataDir });
    await api.until("pod-0", isReady);
    expect(await mainRun(dataDir)).toEqual(before);
    expect(api.read("pod-0")?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect(await sleeping()).toBe(0);

    await node.stop();
    // The container ends while no node runs.
    process.kill(before.pid ?? 0, "SIGKILL");
    const next = await createNode({ client: api.client, defaultRuntime: "runc", nodeName, dataDir });
    const pod = await api.until("pod-0", (one) => one?.status?.containerStatuses?.[0]?.restartCount === 1);
    expect(pod.status?.containerStatuses).toMatchObject([
      { lastState: { terminated: { exitCode: 137, reason: "Error" } } },
    ]);
    await next.stop();
  });

  test.for(testedRuntimes)("can be removed together with running exec sessions, with %s", async (runtime, context) => {
    const dataDir = await makeDataDir(context);
    await kill(await startProcess(dataDir, 1, "running", "single", runtime));
    await removeNode({ dataDir });
    expect(await findTraces(dataDir)).toEqual(noTraces);
    expect(await findShared(dataDir)).toEqual([]);
  });

  test("refuses to share its data folder", async (context) => {
    const dataDir = await makeDataDir(context);
    const child = await startProcess(dataDir, 1, "running");
    await expect(createNode({ client: openTestApi().client, nodeName, dataDir })).rejects.toThrow(
      "another process runs its node",
    );
    await kill(child);
  });

  test.for([
    ["set-up", 0],
    ["start-container", 0],
    ["start-container", 50],
    ["start-container", 100],
  ] as const)("recovers after a kill at %s + %d ms, and leaves nothing behind", async ([word, afterMs], context) => {
    const dataDir = await makeDataDir(context);
    const child = await startProcess(dataDir, 3, word);
    // Not a wait for something: it moves the kill to another point.
    await sleep(afterMs);
    await kill(child);

    const api = openTestApi();
    const names = ["pod-0", "pod-1", "pod-2"];
    for (const name of names) await api.create(name);
    const node = await createNode({ client: api.client, defaultRuntime: "runc", nodeName, dataDir });
    const ready = await Promise.all(names.map((name) => api.until(name, isReady)));
    expect(ready.map(({ status }) => status?.containerStatuses?.[0]?.restartCount)).toEqual([0, 0, 0]);
    expect((await findTraces(dataDir)).namespaces).toHaveLength(3);
    await node.teardown();
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });

  test.for([
    ["start-holder", 0],
    ["start-holder", 40],
    ["record-exit", 0],
    ["run-hook", 0],
    ["record-hooked", 10],
  ] as const)("finds all containers of a Pod after a kill at %s + %d ms", async ([word, afterMs], context) => {
    const dataDir = await makeDataDir(context);
    const child = await startProcess(dataDir, 1, word, "several");
    // Not a wait for something: it moves the kill to another point.
    await sleep(afterMs);
    await kill(child);

    const api = openTestApi();
    await api.create("pod-0", severalContainers);
    const node = await createNode({ client: api.client, defaultRuntime: "runc", nodeName, dataDir });
    const { status } = await api.until("pod-0", isReady);
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    expect(statuses.map(({ name, restartCount }) => [name, restartCount])).toEqual([
      ["first", 0],
      ["side", 0],
      ["main", 0],
      ["other", 0],
    ]);
    await node.teardown();
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });

  test("does not touch the Pods of another data folder", async (context) => {
    const dataDir = await makeDataDir(context);
    const otherDir = await mkdtemp(join(tmpdir(), "node-int-"));
    await kill(await startProcess(dataDir, 1, "running"));
    // Compare pids only: the command line of a process that has just started may still be the runtime's.
    const traces = async (): Promise<object> => {
      const found = await findTraces(dataDir);
      return { ...found, processes: found.processes.map((line) => line.split(" ")[0]) };
    };
    const before = await traces();
    const other = await createNode({ client: openTestApi().client, nodeName, dataDir: otherDir });
    expect(await findShared(otherDir)).not.toEqual([]);
    await other.teardown();
    expect(await findShared(otherDir)).toEqual([]);
    await rm(otherDir, { recursive: true, force: true });
    expect(await traces()).toEqual(before);
  });
});
