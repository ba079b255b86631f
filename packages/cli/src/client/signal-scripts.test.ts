import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { killWords, noProcessIdCode, withProcessId } from "./signal-scripts.ts";

const folder = mkdtempSync(join(tmpdir(), "signal-scripts-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs words as a sandbox does. */
function started([program = "", ...args]: readonly string[]): {
  readonly pid: number | undefined;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null; readonly stdout: string }>;
} {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = Promise.all([once(child, "exit"), text(child.stdout)]).then(([[code, signal], stdout]) => ({
    code: code as number | null,
    signal: signal as string | null,
    stdout,
  }));
  return { pid: child.pid, ended };
}

test("a signal that arrives before the command has written its process id waits for it", async () => {
  const file = join(folder, "late");
  const kill = started(killWords(file, "TERM"));
  await sleep(200);
  const command = started(withProcessId(file, ["sleep", "60"]));
  expect(await kill.ended).toMatchObject({ code: 0 });
  expect(await command.ended).toMatchObject({ code: null, signal: "SIGTERM" });
});

test("a file that is still empty is not read", async () => {
  const file = join(folder, "empty");
  writeFileSync(file, "");
  const kill = started(killWords(file, "USR1"));
  await sleep(200);
  const command = started(withProcessId(file, ["sleep", "60"]));
  expect(await kill.ended).toMatchObject({ code: 0 });
  expect(await command.ended).toMatchObject({ signal: "SIGUSR1" });
});

test("the command is the process of the file, and keeps its arguments", async () => {
  const file = join(folder, "own");
  const words = ["sh", "-c", 'echo "$$ $1 $2"', "sh", "a  b", '"$HOME"'];
  const { pid, ended } = started(withProcessId(file, words));
  expect(await ended).toMatchObject({ code: 0, stdout: `${pid} a  b "$HOME"\n` });
  expect(readFileSync(file, "utf8")).toBe(`${pid}\n`);
});

test("without a folder to write to, the command runs, and a signal says that it cannot be sent", async () => {
  const file = join(folder, "none", "file");
  expect(await started(withProcessId(file, ["echo", "runs"])).ended).toMatchObject({ code: 0, stdout: "runs\n" });
  expect(existsSync(file)).toBe(false);
  expect(await started(killWords(file, "TERM", 3)).ended).toMatchObject({ code: noProcessIdCode });
});

test("a command that has ended is not an error of its own", async () => {
  const file = join(folder, "ended");
  await started(withProcessId(file, ["true"])).ended;
  const { code } = await started(killWords(file, "TERM")).ended;
  expect([0, noProcessIdCode]).not.toContain(code);
});
