import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { matchesOutput } from "../../scripts/docs/compare-output.ts";
import { root } from "../../scripts/docs/pages.ts";
import { type Step, scriptOf } from "./page-script.ts";

/** Runs the steps of a page on a machine of its own. Rejects with what went wrong and the lines of the page. */
export async function runPage(steps: readonly Step[]): Promise<void> {
  checkRun(steps, await runSteps(steps));
}

/** Throws with what went wrong and the lines of the page. */
export function checkRun(steps: readonly Step[], { outputs, ended, messages }: Run): void {
  const outputOf = (step: number): string => outputs[step] ?? "";
  if (process.env["SHOW_OUTPUTS"] === "1") show(steps, outputOf);
  const failed = steps.slice(ended, ended + 1).map((step) => describe(step, "failed", outputOf(ended), messages));
  const different = steps.slice(0, ended).flatMap((step, index) => differenceIn(step, outputOf(index)));
  if (failed.length + different.length > 0) throw new Error([...failed, ...different].join("\n\n"));
}

export interface Run {
  /** What each step printed. */
  readonly outputs: readonly string[];
  /** The number of steps that succeeded. */
  readonly ended: number;
  /** What the machine itself printed. */
  readonly messages: string;
}

/** Runs steps, one after the other, on a machine of their own. The first that fails ends the run. */
export async function runSteps(steps: readonly Step[]): Promise<Run> {
  const scratch = mkdtempSync(join(tmpdir(), "agent-sandbox-docs-"));
  try {
    const [outputs, script] = [join(scratch, "outputs"), join(scratch, "page.sh")];
    mkdirSync(outputs);
    writeFileSync(script, scriptOf(steps, outputs));
    const messages = await runWorld(scratch, script);
    return readRun(steps, { outputs, dataDir: join(scratch, "data"), messages });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Reads what a script of `scriptOf` wrote into the folder `outputs`. */
export function readRun(
  steps: readonly Step[],
  { outputs, dataDir, messages }: { readonly outputs: string; readonly dataDir: string; readonly messages: string },
): Run {
  const current = read(join(outputs, "current")).trim();
  if (current === "") throw new Error(`The box did not start: ${messages}`);
  return {
    outputs: steps.map((_, index) => read(join(outputs, String(index))).replaceAll(dataDir, dataFolder)),
    ended: current === "done" ? steps.length : Number(current),
    messages,
  };
}

/** For writers of pages. */
function show(steps: readonly Step[], outputOf: (step: number) => string): void {
  for (const [index, step] of steps.entries()) console.info(describe(step, "", outputOf(index), ""));
}

const dataFolder = "/var/lib/agent-sandbox";

function differenceIn(step: Step, output: string): string[] {
  if (step.expected === undefined || matchesOutput(step.expected.text, output)) return [];
  return [describe(step, "printed something else than the page says", output, "")];
}

const describe = ({ block, commands }: Step, what: string, output: string, messages: string): string =>
  `line ${block.line} ${what}:\n${block.language === "sh" ? commands : ""}--- output\n${output.slice(-shownCharacters)}${messages}`;

const shownCharacters = 2000;

/** Runs a script on a machine of its own, in a folder that looks like the repository. Returns what the machine itself printed. */
export async function runWorld(scratch: string, script: string): Promise<string> {
  const work = join(scratch, "work");
  linkRepository(work);
  addPrograms(scratch);
  const path = `${join(scratch, "bin")}:${process.env["PATH"]}:/usr/sbin:/sbin`;
  const { PAGE_SECONDS } = process.env;
  const limit = PAGE_SECONDS === undefined ? {} : { PAGE_SECONDS };
  const env = { PATH: path, HOME: join(scratch, "home"), LANG: "C.UTF-8", TERM: "dumb", ...limit };
  const child = spawn(join(import.meta.dirname, "world.sh"), [scratch, script], {
    cwd: work,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(child, "close");
  return Buffer.concat(chunks).toString("utf8");
}

/** Makes a folder that looks like the repository and that a page can write to. */
export function linkRepository(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(root).filter((name) => !name.startsWith("."));
  for (const name of names) symlinkSync(join(root, name), join(folder, name));
}

/** On the PATH of a page are the built command, and a `sudo` for root. */
function addPrograms(scratch: string): void {
  for (const folder of ["bin", "home"]) mkdirSync(join(scratch, folder));
  symlinkSync(join(root, "dist/agent-sandbox"), join(scratch, "bin/agent-sandbox"));
  writeFileSync(join(scratch, "bin/sudo"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
