import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sessionScript } from "./session-script.ts";

describe.each(["bash", "sh"] as const)("a session of %s", (shell) => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "session-")));
    writeFileSync(join(folder, "cwd"), folder);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = (command: string, ...cwd: string[]): { readonly out: string; readonly code: number | null } => {
    const words = ["-c", sessionScript(folder, shell), shell, command, ...cwd];
    const { stdout, status } = spawnSync(shell, words, { encoding: "utf8" });
    return { out: stdout, code: status };
  };

  test("keeps the working directory and exported variables", () => {
    expect(run("pwd")).toEqual({ out: `${folder}\n`, code: 0 });
    expect(run("cd /usr; export A='x  y'; exit 3")).toEqual({ out: "", code: 3 });
    expect(run('pwd; echo "$A"; exec sh -c \'echo "$A"\'')).toEqual({ out: "/usr\nx  y\nx  y\n", code: 0 });
    expect(run("pwd", "/")).toEqual({ out: "/\n", code: 0 });
  });

  test("does not show the command its own words", () => {
    expect(run('echo "$#" "$1" "$__command"')).toEqual({ out: "0  \n", code: 0 });
  });

  test("fails like its last command, and with a syntax error", () => {
    expect(run("true; false").code).toBe(1);
    expect(run("for").code).not.toBe(0);
    expect(run("cat <<X\nhere\nX")).toEqual({ out: "here\n", code: 0 });
  });

  test("does not start in a folder that does not exist", () => expect(run("pwd", "/nowhere").code).toBe(1));

  test.runIf(shell === "bash")("keeps variables, functions and options", () => {
    run("n=5; list=(a 'b c'); hello() { echo hi \"$1\"; }; shopt -s nullglob; readonly fixed=1");
    const command = 'echo $n "${list[1]}"; hello you; shopt -q nullglob && echo on; env | grep -c ^n=';
    expect(run(command).out).toBe("5 b c\nhi you\non\n0\n");
  });
});
