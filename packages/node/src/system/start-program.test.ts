import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startProgram } from "./start-program.ts";

const said = (stream: Socket | undefined): Promise<string> => text(stream as Socket);

test("passes input, both outputs and the exit code", async () => {
  const script = 'read line; echo "out $line $WORD"; echo err >&2; exit 3';
  const { stdio, ended } = startProgram("sh", ["-c", script], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], WORD: "x y", GONE: undefined },
  });
  const [stdin, stdout, stderr] = stdio;
  stdin?.end("hello\n");
  const outputs = await Promise.all([said(stdout), said(stderr)]);
  expect([...outputs, await ended]).toEqual(["out hello x y\n", "err\n", { code: 3 }]);
});

test("reports all programs that end at the same time", async () => {
  const all = Array.from({ length: 20 }, (_, code) =>
    startProgram("sh", ["-c", `exit ${code}`], { stdio: ["ignore", "ignore", "ignore"] }),
  );
  const codes = await Promise.all(all.map(async ({ ended }) => (await ended).code));
  expect(codes).toEqual(all.map((_, code) => code));
});

test("reports the signal that killed a program", async () => {
  const { pid, stdio, ended } = startProgram("sh", ["-c", "echo up; exec sleep 60"], { stdio: ["ignore", "pipe"] });
  stdio[1]?.once("data", () => process.kill(pid, "SIGTERM"));
  expect(await ended).toEqual({ code: undefined, signal: "SIGTERM" });
});

test("the program has the given folder and descriptors and default signals", async () => {
  // Node itself ignores SIGPIPE, the thirteenth.
  const script = 'pwd; grep -c "^SigIgn.*1...$" /proc/self/status; ls -l /proc/self/fd | grep -c socket; echo more >&3';
  const { stdio, ended } = startProgram("sh", ["-c", script], {
    stdio: ["ignore", "pipe", "ignore", "pipe"],
    cwd: "/proc/self",
    session: true,
  });
  const [, stdout, , more] = stdio;
  const [output, extra] = await Promise.all([said(stdout), said(more)]);
  expect(output.split("\n").slice(1)).toEqual(["0", "1", ""]);
  expect(output).toMatch(/^\/proc\/\d+\n/);
  expect([extra, await ended]).toEqual(["more\n", { code: 0 }]);
});

test("a program with its own peer can write when nobody else reads, and its end is still noticed", async () => {
  const script = "read line; echo more >&3; echo alive";
  const { stdio, ended } = startProgram("sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore", "pipe", "peer"] });
  stdio[3]?.destroy();
  stdio[0]?.end("go\n");
  expect([await said(stdio[1]), await ended]).toEqual(["alive\n", { code: 0 }]);
  const silent = startProgram("true", [], { stdio: ["ignore", "ignore", "ignore", "pipe", "peer"] });
  expect(await said(silent.stdio[3])).toBe("");
});

const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

test("a failed start is an error and leaks no descriptors", () => {
  const before = openDescriptors();
  const start = (): unknown => startProgram("no-such-program", [], { stdio: ["pipe", "pipe", "pipe"] });
  expect(start).toThrow(expect.objectContaining({ code: "ENOENT" }));
  expect(openDescriptors()).toBe(before);
});
