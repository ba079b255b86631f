import { spawnSync } from "node:child_process";
import { Command } from "commander";
import { expect, test } from "vitest";
import { bashScript } from "./completion.ts";

const program = new Command("agent-sandbox").option("--data-dir <folder>");
program.command("get").option("-o, --output <format>");
const snapshot = program.command("snapshot");
snapshot.command("create").option("--ttl <duration>");
snapshot.command("ls");
program.command("exec");

/** What bash offers for the words after the program's name. */
function offered(...words: string[]): string[] {
  const script = `agent-sandbox() { echo sandbox.agents.x-k8s.io/web; }
${bashScript(program)}
COMP_WORDS=(agent-sandbox ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}
_agent_sandbox; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return spawnSync("bash", ["-c", script], { encoding: "utf8" }).stdout.trim().split("\n");
}

test.each([
  [[""], ["get", "snapshot", "exec", "--data-dir"]],
  [["sn"], ["snapshot"]],
  [
    ["snapshot", ""],
    ["create", "ls"],
  ],
  [["snapshot", "create", "--"], ["--ttl"]],
  [
    ["get", "-"],
    ["--output", "-o"],
  ],
  [["exec", "w"], ["web"]],
  [["nothing-like-it"], [""]],
])("bash completes %j", (words, expected) => {
  expect(offered(...words)).toEqual(expected);
});
