import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "./box.ts";
import { Terminal } from "./terminal.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const dist = join(import.meta.dirname, "../../dist");

interface Shell {
  readonly name: string;
  /** Starts the shell for a user, without the settings of one. */
  readonly start: string;
  readonly load: string;
}

const shells: readonly Shell[] = [
  { name: "bash", start: "bash --noprofile --norc -i", load: "source <(agent-sandbox completion bash)" },
  { name: "zsh", start: "zsh -f -i", load: "source <(agent-sandbox completion zsh)" },
  { name: "fish", start: "fish --no-config --interactive", load: "agent-sandbox completion fish | source" },
];
const isInstalled = ({ name }: Shell): boolean => spawnSync(name, ["-c", "true"]).status === 0;

/** What a user types, with the tabulator key, and the last line that is then printed. */
const lines: readonly (readonly [typed: string, printed: string])[] = [
  // A command, and a name that the server knows.
  ["agent-sandbox ex\twor\t-- echo ran in it", "ran in it"],
  // One side of a copy ends with a colon and goes on without a space.
  ["agent-sandbox cp wor\t/etc/hostname -", "work"],
  ["agent-sandbox get sandboxes --outp\tname", "sandbox.agents.x-k8s.io/work"],
  ["agent-sandbox pool stat\t", "No resources found"],
  ["agent-sandbox run --rm --runtime run\t-- echo with runc", "with runc"],
  // Files, where the program knows no candidates.
  ["agent-sandbox apply -f examples/first-sand\t", "sandbox.agents.x-k8s.io/my-sandbox created"],
];

describe.skipIf(reason !== undefined)("completion in a shell", { timeout: 120_000 }, () => {
  let box: Box;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
    await box.run("create", "work", "--runtime", "runc");
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  describe.each(shells.filter(isInstalled))("$name", ({ start, load }) => {
    test.each(lines)("%j prints %s", async (typed, printed) => {
      const variables = `AGENT_SANDBOX_DATA_DIR=${box.dataDir} PATH=${dist}:$PATH TERM=dumb HISTFILE=`;
      using terminal = new Terminal(`${variables} ${start}`);
      terminal.type(`${load}; echo is load""ed\r`);
      await expect.poll(terminal.shown, { timeout: 20_000 }).toContain("is loaded");
      const before = terminal.shown().length;
      // The shell reads the keys after a tabulator when it has completed the word.
      terminal.type(`${typed}\r`);
      const output = (): string => stripVTControlCharacters(terminal.shown().slice(before)).replaceAll("\r", "\n");
      await expect.poll(output, { timeout: 30_000 }).toContain(`\n${printed}\n`);
      await box.run("delete", "sandbox/my-sandbox");
    });
  });
});
