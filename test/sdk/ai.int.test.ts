import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Sandbox } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildSdkPackage } from "../../scripts/sdk-package.ts";
import { Box, buildCommandLine, execute, whyNoBox } from "../e2e/box.ts";
import type { Conversation } from "./ai-conversations.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../..");

const printsMuch = "print('é' * 5000)";

const conversations = {
  // First, because the command ends some seconds after its caller has gone.
  cancelled: {
    cancelAt: "started",
    calls: [["runCommand", { command: "touch started; sleep 60" }]],
  },
  work: {
    calls: [
      ["writeFile", { path: "work/double.py", content: "import sys\nprint(2 * int(sys.argv[1]))\n" }],
      ["runCommand", { command: "python3 double.py 21 | tee result.txt", cwd: "work" }],
      ["listFiles", { path: "work" }],
      ["readFile", { path: "work/result.txt" }],
      ["runCode", { code: "answer = int(open('work/result.txt').read())" }],
      ["runCode", { code: "answer", language: "python", timeoutSeconds: 10 }],
    ],
  },
  failing: {
    options: { maxTimeoutSeconds: 1 },
    calls: [
      ["readFile", { path: "nothing" }],
      ["writeFile", { path: "../../outside", content: "" }],
      ["runCommand", { command: "exit 3" }],
      ["runCommand", { command: "sleep 100", timeoutSeconds: 600 }],
      ["runCode", { code: "1 / 0" }],
    ],
  },
  long: {
    options: { maxOutputLength: 1000 },
    calls: [
      ["runCommand", { command: `python3 -c "${printsMuch}"; echo error >&2` }],
      ["runCode", { code: printsMuch }],
      ["writeFile", { path: "long.txt", content: "x".repeat(5000) }],
      ["readFile", { path: "long.txt" }],
      ["runCommand", { command: "mkdir many; cd many; seq 501 | xargs touch" }],
      ["listFiles", { path: "many" }],
    ],
  },
  invalid: {
    calls: [
      ["runCommand", { command: ["touch", "ran"] }],
      ["runCommand", { command: "touch ran", user: "root" }],
      ["runCommand", { command: "touch ran", timeoutSeconds: "1" }],
      ["runCommand", { command: "touch ran", constructor: "x" }],
      ["runCode", { code: "open('ran', 'w')", language: "bash" }],
      ["writeFile", { path: "ran" }],
    ],
  },
} satisfies Record<string, Omit<Conversation, "sandbox">>;

type Name = keyof typeof conversations;

describe.skipIf(reason !== undefined)("tools for the Vercel AI SDK", { timeout: 120_000 }, () => {
  const stack = new AsyncDisposableStack();
  let app: string;
  let sandbox: Sandbox;
  let box: Box;
  /** What each model was told. */
  let told: Record<Name, unknown[]>;

  beforeAll(async () => {
    app = mkdtempSync(join(tmpdir(), "sdk-ai-"));
    stack.defer(() => rmSync(app, { recursive: true }));
    buildCommandLine();
    await buildSdkPackage(join(app, "node_modules/@agent-sandbox/sdk"));
    symlinkSync(join(root, "node_modules/ai"), join(app, "node_modules/ai"));
    writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", type: "module" }));
    copyFileSync(join(import.meta.dirname, "ai-conversations.ts"), join(app, "ai-conversations.ts"));
    box = stack.use(await Box.make());
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
    const client = stack.use(await connect({ dataDir: box.dataDir }));
    sandbox = await client.create({ image: "host" });
    const input = Object.values(conversations).map((each) => ({ ...each, sandbox: sandbox.name }));
    const all = JSON.parse(await run("ai-conversations.ts", JSON.stringify(input))) as unknown[][];
    told = Object.fromEntries(Object.keys(conversations).map((name, index) => [name, all[index]])) as typeof told;
  });
  afterAll(() => stack.disposeAsync());

  /** Runs a program in the folder of the application, without our own conditions. Returns what it prints. */
  async function run(file: string, stdin: string): Promise<string> {
    const words = ["-C", app, "-u", "NODE_OPTIONS", `AGENT_SANDBOX_DATA_DIR=${box.dataDir}`, "node", file];
    const { code, stdout, stderr } = await execute("env", words, stdin);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  test("a model writes a program, runs it, and reads what it wrote", () => {
    const entries = [
      { name: "double.py", type: "file", size: 39 },
      { name: "result.txt", type: "file", size: 3 },
    ];
    expect(told.work).toEqual([
      { written: "work/double.py", truncated: false },
      { exitCode: 0, stdout: "42\n", stderr: "", timedOut: false, truncated: false },
      { entries, truncated: false },
      { content: "42\n", truncated: false },
      { stdout: "", stderr: "", truncated: false },
      { stdout: "", stderr: "", value: "42", truncated: false },
      "done",
    ]);
  });

  test("errors are results, with their reason", () => {
    expect(told.failing).toMatchObject([
      { error: { reason: "NotFound", message: expect.stringContaining("nothing") as string } },
      { error: { reason: "Forbidden" } },
      { exitCode: 3, timedOut: false },
      { timedOut: true },
      { exception: expect.stringContaining("ZeroDivisionError") as string },
      "done",
    ]);
  });

  test("long output is cut", () => {
    expect(told.long).toMatchObject([
      { stdout: "é".repeat(1000), truncated: true },
      { stdout: "é".repeat(1000), truncated: true },
      { written: "long.txt" },
      { content: "x".repeat(1000), truncated: true },
      { exitCode: 0 },
      { entries: { length: 500 }, truncated: true },
      "done",
    ]);
  });

  test("input that does not fit the schema is refused, and nothing runs", async () => {
    const refusals = told.invalid.slice(0, -1).map(String);
    expect(refusals).toHaveLength(conversations.invalid.calls.length);
    for (const refusal of refusals) expect(refusal).toContain("of the input is not valid");
    expect(await sandbox.files.exists("ran")).toBe(false);
  });

  test("the example of the guide runs", async () => {
    const guide = readFileSync(join(root, "docs/guides/typescript.md"), "utf8");
    const [, example = ""] = /^```typescript\n(.*?)^```$/ms.exec(guide) ?? [];
    mkdirSync(join(app, "guide"));
    writeFileSync(join(app, "guide/example.ts"), example);
    const calls = [["runCommand", { command: "uname" }]];
    const model = `import { scripted } from "../ai-conversations.ts";\nexport const model = scripted(${JSON.stringify(calls)});\n`;
    writeFileSync(join(app, "guide/model.ts"), model);
    expect(await run("guide/example.ts", "")).toBe("done\n");
  });

  test("a cancelled conversation cancels the command", async () => {
    expect(told.cancelled).toEqual(["cancelled"]);
    const running = async (): Promise<unknown[]> =>
      (await sandbox.commands.list()).filter(
        (each) => each.exit === undefined && each.command.join().includes("sleep"),
      );
    await expect.poll(running).toEqual([]);
  });
});
