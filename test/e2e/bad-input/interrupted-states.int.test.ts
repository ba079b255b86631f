import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Sandbox } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../../..");

/** Its Pod needs seconds to stop and to become ready, so a signal arrives in between. */
const slow = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "slow" },
  spec: {
    podTemplate: {
      spec: {
        terminationGracePeriodSeconds: 4,
        containers: [
          {
            name: "main",
            image: "host",
            command: ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"],
            readinessProbe: { exec: { command: ["true"] }, initialDelaySeconds: 3, periodSeconds: 1 },
          },
        ],
      },
    },
  },
};

describe.skipIf(reason !== undefined)("Ctrl-C while a sandbox or the box changes", { timeout: 120_000 }, () => {
  let box: Box;
  let backup: string;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    backup = join(box.dataDir, "backup");
    const { code, stderr } = await box.up("--default-runtime", "runc");
    if (code !== 0) throw new Error(stderr);
    await box.runWith(JSON.stringify(slow), "apply", "-f", "-");
    await box.run("wait", "sandbox/slow", "--for=condition=Ready");
    for (const words of [
      ["snapshot", "create", "slow", "kept"],
      ["backup", backup],
    ]) {
      const { code, stderr } = await box.run(...words);
      if (code !== 0) throw new Error(stderr);
    }
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const read = async <T>(what: string): Promise<T> =>
    JSON.parse((await box.run("get", what, "-o", "json")).stdout) as T;
  const spec = async (): Promise<Sandbox["spec"]> => (await read<Sandbox>("sandbox/slow")).spec;
  const isReady = async (): Promise<boolean> =>
    (await box.run("wait", "sandbox/slow", "--for=condition=Ready", "--timeout=30s")).code === 0;

  async function interrupt(words: readonly string[], isHalfway: () => Promise<boolean>): Promise<unknown> {
    const child = spawn(join(root, "dist/agent-sandbox"), ["--data-dir", box.dataDir, ...words], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const said = text(child.stderr);
    await expect.poll(isHalfway, { timeout: 30_000, interval: 5 }).toBe(true);
    const exited = once(child, "exit");
    child.kill("SIGINT");
    const [code, signal] = (await exited) as [number | null, string | null];
    expect((await said).trim()).toMatch(/^(?:error: ended by SIGINT)?$/);
    // A shell shows a signal as this status.
    return signal === "SIGINT" ? 130 : code;
  }

  test("a suspension goes on, and can be awaited again", async () => {
    const isAsked = async (): Promise<boolean> => (await spec()).operatingMode === "Suspended";
    expect(await interrupt(["suspend", "slow"], isAsked)).toBe(130);
    expect(await box.run("suspend", "slow")).toMatchObject({ code: 0 });
  });

  test("a resumption goes on", async () => {
    const isAsked = async (): Promise<boolean> => (await spec()).operatingMode === "Running";
    expect(await interrupt(["resume", "slow"], isAsked)).toBe(130);
    expect(await isReady()).toBe(true);
  });

  test("a restart goes on", async () => {
    const uid = async (): Promise<string> => (await read<Sandbox>("pod/slow")).metadata.uid ?? "";
    const before = await uid();
    const isStopping = async (): Promise<boolean> =>
      (await read<Sandbox>("pod/slow")).metadata.deletionTimestamp !== undefined;
    expect(await interrupt(["restart", "slow"], isStopping)).toBe(130);
    await expect.poll(uid, { timeout: 30_000 }).not.toBe(before);
    expect(await isReady()).toBe(true);
  });

  test("a rollback that has not begun leaves the sandbox running", async () => {
    const isAsked = async (): Promise<boolean> => (await spec()).operatingMode === "Suspended";
    expect(await interrupt(["snapshot", "restore", "slow", "kept"], isAsked)).toBe(130);
    const { operatingMode, restoreFrom } = await spec();
    expect({ operatingMode, restoreFrom }).toEqual({ operatingMode: "Running", restoreFrom: undefined });
    expect(await isReady()).toBe(true);
  });

  test("the box runs again after a restore", async () => {
    const pid = box.pid();
    const isStopped = async (): Promise<boolean> => !existsSync(join(box.dataDir, "box.json")) || box.pid() !== pid;
    // A signal after the data was replaced comes too late to end the restore.
    expect([0, 130]).toContain(await interrupt(["restore", backup], isStopped));
    expect(await box.run("status")).toMatchObject({ code: 0 });
    expect(await isReady()).toBe(true);
  });
});
