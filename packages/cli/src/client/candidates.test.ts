import { expect, test } from "vitest";
import { createProgram } from "../program.ts";
import { candidatesFor } from "./candidates.ts";
import { completionPlace } from "./completion-place.ts";

const program = createProgram();
/** A folder without a box: names cannot be read. */
const nowhere = ["--data-dir", "/none"];

const offered = async (...words: string[]): Promise<string[]> =>
  (await candidatesFor(program, words)).map(({ text }) => text);

test.each([
  [["sn"], ["snapshot"]],
  [["snapshot", "e"], ["export"]],
  [
    ["snapshot", "create", "--d"],
    ["--data-dir", "--depth"],
  ],
  [
    ["suspend", "web", "--depth", ""],
    ["Volumes", "Filesystem", "Memory"],
  ],
  [["get", "-o", "y"], ["yaml"]],
  [["get", "sandboxt"], ["sandboxtemplates"]],
  [["-n", "default", "completion", "z"], ["zsh"]],
  [["wait", "sandbox/web", "--for", "d"], ["delete"]],
  [["exec", ...nowhere, "w"], []],
  [["exec", "web", "--", "-"], []],
  [["apply", "-f", ""], []],
  [["run", "--image", ...nowhere, ""], []],
  [["nothing-like-it", ""], []],
])("%j offers %j", async (words, expected) => {
  expect(await offered(...words)).toEqual(expected);
});

test("an empty line offers the commands that help lists", async () => {
  const all = await offered("");
  expect(all).toEqual(expect.arrayContaining(["up", "run", "exec", "top"]));
  expect(all).not.toContain("__complete");
});

test("every command and option of the program is offered", async () => {
  const missing: string[] = [];
  for (const command of program.commands.filter((one) => !one.name().startsWith("__"))) {
    for (const own of [command, ...command.commands]) {
      const path = own === command ? [command.name()] : [command.name(), own.name()];
      const found = await offered(...path, "-");
      missing.push(
        ...own.options.filter(({ long }) => !found.includes(long ?? "")).map(({ long }) => `${path.join(" ")} ${long}`),
      );
    }
  }
  expect(missing).toEqual([]);
});

test("options before and after the command choose the server", () => {
  const words = ["--data-dir", "/a", "exec", "-n", "b", "--kubeconfig", "c", ""];
  expect(completionPlace(program, words)).toMatchObject({
    path: "exec",
    before: [],
    connection: { dataDir: "/a", namespace: "b", kubeconfig: "c" },
  });
});
