import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { removeNode } from "../../src/create-node.ts";
import { layoutOf } from "../../src/layout.ts";
import { namesIn } from "../../src/system/folders.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";

const script = `${import.meta.dirname}/save-process.ts`;

/** The output line after which a process is killed, and how long after. */
interface Kill {
  readonly at: string;
  readonly afterMs: number;
}

interface Told {
  readonly answers: readonly string[];
  /** The numbers that the Pods have counted, in order. */
  readonly counted: readonly number[];
}

async function run(dataDir: string, mode: "save" | "resave" | "restore", kill?: Kill): Promise<Told> {
  const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", script, dataDir, mode];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const [answers, counted]: [string[], number[]] = [[], []];
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith("answer ")) answers.push(line.slice("answer ".length));
    if (line.startsWith("log ")) counted.push(...line.slice("log ".length).split(",").filter(Boolean).map(Number));
    if (line !== kill?.at) continue;
    await sleep(kill.afterMs);
    child.kill("SIGKILL");
  }
  await ended;
  return { answers, counted };
}

async function withFolder(work: (dataDir: string) => Promise<void>, hasKey = false): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "node-int-"));
  try {
    if (hasKey) await giveKey(dataDir);
    await work(dataDir);
  } finally {
    await removeNode({ dataDir });
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function giveKey(dataDir: string): Promise<void> {
  const key = join(dataDir, "key");
  await writeFile(key, randomBytes(32), { mode: 0o600 });
  await writeFile(join(dataDir, "config.json"), JSON.stringify({ node: { stateKeyFiles: [key] } }));
}

/** The decrypted images that are in memory. */
const plainFiles = (dataDir: string): Promise<string[]> => namesIn(join(layoutOf(dataDir).runDir, "plain"));

const isWithoutGap = (numbers: readonly number[]): boolean => numbers.every((one, index) => one === index + 1);

describe.skipIf(cannotRun)("a node that is killed while it saves or restores a Pod", { concurrent: true }, () => {
  test.for([
    { at: "do save", afterMs: 0 },
    { at: "do save", afterMs: 20 },
    { at: "do save", afterMs: 60 },
    { at: "do record-saved", afterMs: 0 },
    { at: "do record-saved", afterMs: 2 },
    { at: "do kill-saved", afterMs: 0 },
  ])("killed $afterMs ms after $at, the next start completes the image, and nothing is lost", (kill) =>
    withFolder(async (dataDir) => {
      await run(dataDir, "save", kill);
      const { answers, counted } = await run(dataDir, "resave");
      expect(answers).toEqual(["True", "True"]);
      expect(isWithoutGap(counted)).toBe(true);
    }),
  );

  test("killed while it removes a saved Pod, the next start does so before it restores the next Pod", () =>
    withFolder(async (dataDir) => {
      const saved = await run(dataDir, "save");
      await run(dataDir, "resave", { at: "do tear-down", afterMs: 5 });
      const restored = await run(dataDir, "restore");
      expect([...saved.answers, ...restored.answers]).toEqual(["True", "True"]);
      expect(isWithoutGap([...saved.counted, ...restored.counted])).toBe(true);
    }));

  test.for([
    { at: "do restore", afterMs: 0 },
    { at: "do restore", afterMs: 100 },
    { at: "do restore", afterMs: 300 },
  ])("killed $afterMs ms after $at, the next start finds or restores the Pod once", (kill) =>
    withFolder(async (dataDir) => {
      const saved = await run(dataDir, "save");
      expect(saved.answers).toEqual(["True"]);
      await run(dataDir, "restore", kill);
      const restored = await run(dataDir, "restore");
      expect(restored.answers).toEqual(["True"]);
      expect(isWithoutGap([...saved.counted, ...restored.counted])).toBe(true);
    }),
  );

  test.for([
    { at: "do save", afterMs: 60 },
    { at: "do save", afterMs: 200 },
  ])("killed $afterMs ms after $at of an encrypted image, the next start leaves no plain file", (kill) =>
    withFolder(async (dataDir) => {
      await run(dataDir, "save", kill);
      const { answers, counted } = await run(dataDir, "resave");
      expect(answers).toEqual(["True", "True"]);
      expect(isWithoutGap(counted)).toBe(true);
      expect(await plainFiles(dataDir)).toEqual([]);
    }, true),
  );

  test("killed while it restores an encrypted image, the next start restores it once and leaves no plain file", () =>
    withFolder(async (dataDir) => {
      const saved = await run(dataDir, "save");
      await run(dataDir, "restore", { at: "do restore", afterMs: 200 });
      const restored = await run(dataDir, "restore");
      expect([...saved.answers, ...restored.answers]).toEqual(["True", "True"]);
      expect(isWithoutGap([...saved.counted, ...restored.counted])).toBe(true);
      expect(await plainFiles(dataDir)).toEqual([]);
    }, true));
});
