import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeNode } from "../../src/create-node.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";

const script = `${import.meta.dirname}/save-process.ts`;

interface Kill {
  /** The output line after which the process is killed, and how long after. Never killed without it. */
  readonly at?: string;
  readonly afterMs?: number;
}

interface Told {
  readonly answer: string | undefined;
  readonly log: readonly number[];
}

describe.skipIf(cannotRun)("a node that is killed while it saves or restores a Pod", () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "node-int-"));
  });
  afterEach(async () => {
    await removeNode({ dataDir });
    await rm(dataDir, { recursive: true, force: true });
  });

  async function run(mode: "start" | "save" | "restore", { at, afterMs = 0 }: Kill = {}): Promise<Told> {
    const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", script, dataDir, mode];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const told = new Map<string, string>();
    const ended = new Promise((resolve) => child.once("close", resolve));
    for await (const line of createInterface(child.stdout)) {
      const [word = "", ...rest] = line.split(" ");
      told.set(word, rest.join(" ").trim());
      if (line !== at) continue;
      await sleep(afterMs);
      child.kill("SIGKILL");
    }
    await ended;
    return { answer: told.get("answer"), log: (told.get("log") ?? "").split(",").filter(Boolean).map(Number) };
  }

  /** The counter of the restored Pod continues where the saved one stopped. */
  async function expectNothingLost(before: readonly number[], restored: Told): Promise<void> {
    expect(restored.answer).toBe("True");
    const all = [...before, ...restored.log];
    expect(all).toEqual(all.map((_, index) => index + 1));
  }

  test.for([
    { at: "asked", afterMs: 0 },
    { at: "do save", afterMs: 0 },
    { at: "do save", afterMs: 40 },
    { at: "do save", afterMs: 120 },
    { at: "do save", afterMs: 200 },
    { at: "do record-saved", afterMs: 0 },
    { at: "do end-saved", afterMs: 0 },
    { at: "do end-saved", afterMs: 10 },
  ])("killed $afterMs ms after $at, the next start completes the image", async (kill) => {
    await run("start", kill);
    const saved = await run("save");
    expect(saved.answer).toBe("True");
    await expectNothingLost(saved.log, await run("restore"));
  });

  test.for([
    { at: "do restore", afterMs: 0 },
    { at: "do restore", afterMs: 60 },
    { at: "do restore", afterMs: 150 },
    { at: "do restore", afterMs: 250 },
    { at: "do restore", afterMs: 400 },
  ])("killed $afterMs ms after $at, the next start finds or restores the Pod once", async (kill) => {
    const saved = await run("start");
    expect(saved.answer).toBe("True");
    await run("restore", kill);
    await expectNothingLost(saved.log, await run("restore"));
  });
});
