import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { pythonWith } from "../clients/python-suite.ts";
import { type Ended, runCommand } from "../clients/run-command.ts";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import { notebookIn } from "./notebook-template.ts";
import { npmPackages } from "./npm-packages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** The first run on a machine downloads the packages. */
const firstRunMs = 10 * 60_000;
const programs = join(import.meta.dirname, "programs");
const requirements = {
  e2b: join(import.meta.dirname, "python/e2b/requirements.txt"),
  opensandbox: join(import.meta.dirname, "python/opensandbox/requirements.txt"),
  frameworks: join(programs, "frameworks/requirements.txt"),
} as const;

interface Program {
  readonly path: `${keyof typeof requirements}/${string}`;
  /** What the model says, in turns. */
  readonly answers?: readonly object[];
  readonly prints: readonly string[];
}

const call = (tool: string, given: object): object => ({ calls: [{ tool, arguments: given }] });

const all: readonly Program[] = [
  { path: "e2b/quickstart.py", prints: ["hello world", "42", '{"rows": 3}', "['data.json']"] },
  { path: "e2b/quickstart.mjs", prints: ["2", "7", "step 1", "step 2", "step 3", "4"] },
  {
    path: "e2b/charts.mjs",
    prints: [
      "superchart line, pie",
      's linear [{"label":"squares","points":[[1,1],[2,4],[3,9]]}]',
      "small 90, large 270",
    ],
  },
  {
    path: "e2b/function-calling-agent.py",
    answers: [
      call("execute_python", { code: "word = 'strawberry'\nprint(word)" }),
      call("execute_python", { code: "wrod.count('r')" }),
      call("execute_python", { code: "word.count('r')" }),
      { content: "There are {{last}} of them." },
    ],
    prints: ["[stdout] strawberry", "[error] NameError", "There are 3 of them."],
  },
  {
    path: "e2b/coding-agent.mjs",
    answers: [
      call("writeFile", { path: "add.mjs", content: "export const add = (a, b) => a - b;" }),
      call("writeFile", {
        path: "add.test.mjs",
        content: "import { add } from './add.mjs'; if (add(2, 3) !== 5) { console.log('wrong sum'); process.exit(1); }",
      }),
      call("runCommand", { command: "node add.test.mjs" }),
      call("writeFile", { path: "add.mjs", content: "export const add = (a, b) => a + b;" }),
      call("runCommand", { command: "node add.test.mjs && echo passed in $NODE_ENV" }),
      call("startServer", { command: "python3 -m http.server 3000", port: 3000 }),
      { content: "Served at {{last}}" },
    ],
    prints: [
      "writeFile: wrote add.mjs",
      "writeFile: wrote add.test.mjs",
      "runCommand: exit code 1",
      "writeFile: wrote add.mjs",
      "runCommand: passed in test",
      expect.stringMatching(/^startServer: https:\/\/3000-/) as string,
      expect.stringMatching(/^Served at https:\/\/3000-[a-z0-9]+\.team-a\.localhost:\d+$/) as string,
    ],
  },
  {
    path: "opensandbox/quickstart.py",
    prints: ["Hello OpenSandbox!", "Content: Hello World", "4", "3"],
  },
  {
    path: "opensandbox/quickstart.mjs",
    prints: ["Hello Sandbox!", "from a file", "served: from a file", "Running"],
  },
  {
    path: "opensandbox/code-agent.py",
    answers: [
      call("run_python", { code: "text = open('/tmp/numbers.txt').read()\nprint(text)" }),
      call("run_python", { code: "numbers = [int(part) for part in txt.split()]" }),
      call("run_python", { code: "numbers = [int(part) for part in text.split()]\nsum(numbers) / len(numbers)" }),
      { content: "The mean is {{last}}." },
    ],
    prints: ["[stdout] 1 2 3 6", "[error] NameError", "The mean is 3.0."],
  },
  {
    path: "opensandbox/shell-agent.mjs",
    answers: [
      call("run_in_shell", { command: "mkdir -p $PROJECT/bin; cd $PROJECT; COUNT=3" }),
      call("write_file", {
        path: "/tmp/project/bin/hello.sh",
        content: "#!/bin/sh\nfor i in $(seq $1); do echo hi $i; done\n",
      }),
      call("run_in_shell", { command: "pwd; bin/hello.sh $COUNT" }),
      call("run_in_shell", { command: "cat missing" }),
      call("search_files", { path: "/tmp/project", pattern: "*.sh" }),
      { content: "The script is {{last}}." },
    ],
    prints: [
      "run_in_shell: exit code 0",
      "write_file: wrote /tmp/project/bin/hello.sh",
      "run_in_shell: /tmp/project | hi 1 | hi 2 | hi 3 | exit code 0",
      "run_in_shell: cat: missing: No such file or directory | exit code 1",
      "search_files: /tmp/project/bin/hello.sh",
      "The script is /tmp/project/bin/hello.sh.",
    ],
  },
  {
    path: "frameworks/smolagents-agent.py",
    answers: [
      {
        content:
          "I write a function.\n<code>\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(9))\n</code>",
      },
      { content: "<code>\nfinal_answer(fib(10))\n</code>" },
    ],
    prints: ["the agent says: 55"],
  },
  {
    path: "frameworks/agno-tools.py",
    prints: [
      "[\"Logs:\\nLogs(stdout: ['6\\\\n'], stderr: [])\"]",
      "/home/user/notes.txt",
      "kept by agno",
      '["STDOUT:\\n/home/user/notes.txt\\n"]',
      "True",
    ],
  },
];

const chart: Program = {
  path: "e2b/chart.py",
  prints: [
    "the text of the cell",
    "a PNG image beside the main result",
    "bar bar chart pieces [('a', 3), ('b', 1), ('c', 2)]",
  ],
};

/** Programs and agents of users run as they are: only the address and the key differ. */
describe.skipIf(reason !== undefined)("programs for other platforms", () => {
  let box: CompatBox;
  let scratch: string;
  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), "compat-programs-"));
    const skip = ((message: string) => {
      console.warn(`skipped: ${message}`);
      throw new Error(message);
    }) as never;
    const { folder, template } = await available(notebookIn("team-a"), { skip });
    box = await CompatBox.start("--allow-host-path", folder);
    await box.apply(template);
  }, firstRunMs);
  afterAll(async () => {
    rmSync(scratch, { recursive: true, force: true });
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  async function start({ path, answers = [] }: Program, context: TestContext): Promise<Ended> {
    const { signal } = context;
    const script = join(scratch, `${path.replaceAll("/", "-")}.answers`);
    writeFileSync(script, answers.map((answer) => `${JSON.stringify(answer)}\n`).join(""));
    const env = {
      ...box.environment(),
      SANDBOX_IMAGE: "host",
      SCRIPTED_ANSWERS: script,
      PYTHONPATH: join(programs, "model"),
      PYTHONDONTWRITEBYTECODE: "1",
    };
    if (path.endsWith(".mjs")) {
      return runCommand(process.execPath, [await placed(path, context)], { env, signal });
    }
    const [kind = "e2b"] = path.split("/") as (keyof typeof requirements)[];
    const python = await available(pythonWith(`compat-${kind}`, requirements[kind], signal), context);
    return runCommand(python, [join(programs, path)], { env, signal });
  }

  /** A JavaScript program finds its packages beside it. */
  async function placed(path: string, context: TestContext): Promise<string> {
    const load = await available(npmPackages(), context);
    const installed = join(dirname(load.resolve("e2b/package.json")), "..");
    const folder = mkdtempSync(join(scratch, "program-"));
    const modules = join(folder, "node_modules");
    mkdirSync(modules);
    for (const name of readdirSync(installed)) symlinkSync(join(installed, name), join(modules, name));
    symlinkSync(join(programs, "model/openai"), join(modules, "openai"));
    cpSync(join(programs, path), join(folder, "program.mjs"));
    return join(folder, "program.mjs");
  }

  async function run(program: Program, context: TestContext): Promise<object> {
    const { code, stdout, stderr } = await start(program, context);
    return { code, lines: stdout.split("\n").filter((line) => line !== ""), failure: code === 0 ? "" : stderr };
  }

  test.for(all)("$path", { timeout: firstRunMs }, async (program, context) => {
    expect(await run(program, context)).toEqual({ code: 0, lines: program.prints, failure: "" });
  });
  test("a figure is a result beside the main one (COMPAT-74)", { timeout: firstRunMs }, async (context) => {
    expect(await run(chart, context)).toEqual({ code: 0, lines: chart.prints, failure: "" });
  });
});
