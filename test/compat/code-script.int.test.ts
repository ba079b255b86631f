import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import type { Loose } from "./loose.ts";
import { npmPackages } from "./npm-packages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** The contract's script for the JavaScript client of E2B's code interpreter. */
describe.skipIf(reason !== undefined)("the JavaScript client of E2B's code interpreter", () => {
  let box: CompatBox;
  let sandbox: Loose;

  beforeAll(async () => {
    const skip = ((message: string) => {
      console.warn(`skipped: ${message}`);
      throw new Error(message);
    }) as never;
    const { Sandbox } = (await available(npmPackages(), { skip }))("@e2b/code-interpreter");
    box = await CompatBox.start();
    const options = { apiKey: box.key(), apiUrl: `${box.url}/e2b`, sandboxUrl: box.url };
    sandbox = await Sandbox.create({ ...options, timeoutMs: 280_000, envs: { SANDBOX_WIDE: "yes" } });
  }, 300_000);
  afterAll(async () => await box?.[Symbol.asyncDispose](), 120_000);

  const run = async (code: string, more?: object): Promise<Loose> => sandbox.runCode(code, more);

  test("1-4 the default template keeps variables and counts runs", async () => {
    expect((await sandbox.getInfo()).templateId).toBe("code-interpreter-v1");
    const first = await run("x = 1");
    const second = await run("x + 1");
    expect([first.text, second.text]).toEqual([undefined, "2"]);
    expect(second.executionCount).toBeGreaterThan(first.executionCount);
  });
  test("5-7 output, in whole lines", async () => {
    const lines: string[] = [];
    const code = 'print("a")\nimport sys\nsys.stderr.write("e\\n")';
    const { logs } = await run(code, { onStdout: ({ line }: Loose) => lines.push(line) });
    expect([logs, lines]).toEqual([{ stdout: ["a\n"], stderr: ["e\n"] }, ["a\n"]]);
  });
  test("8-10 an error, and the next run works (COMPAT-72)", async () => {
    const { error } = await run("1/0");
    expect([error.name, error.traceback]).toEqual(["ZeroDivisionError", expect.stringContaining("1/0")]);
    expect((await run("3")).text).toBe("3");
  });
  test("11-16 results", async () => {
    expect((await run("'q'")).text).toBe("q");
    const shown = await run(
      "from IPython.display import *\ndisplay(HTML('<b>x</b>'))\ndisplay(Image(b'\\x89PNG'))\ndisplay(Markdown('# a'), Latex('$x$'), SVG('<svg/>'))\nJSON({'a': 1})",
    );
    expect(
      shown.results.map((one: Loose) => one.html ?? one.png ?? one.markdown ?? one.latex ?? one.svg ?? one.json),
    ).toEqual(["<b>x</b>", "iVBORw==", "# a", "$x$", "<svg/>", { a: 1 }]);
    expect(shown.results.map(({ isMainResult }: Loose) => isMainResult)).toEqual([
      false,
      false,
      false,
      false,
      false,
      true,
    ]);
  });
  test("17-20 variables, and await", async () => {
    expect((await run("import os; os.environ['A']", { envs: { A: "1" } })).text).toBe("1");
    expect((await run("print(os.environ.get('A'), os.environ['SANDBOX_WIDE'])")).logs.stdout).toEqual(["None yes\n"]);
    expect((await run("import asyncio\nawait asyncio.sleep(0.01)\n5")).text).toBe("5");
  });
  test("21-26 contexts (COMPAT-75, COMPAT-76)", async () => {
    const context = await sandbox.createCodeContext({ cwd: "/tmp" });
    expect(context).toMatchObject({ language: "python", cwd: "/tmp" });
    expect((await run("import os; z = 1; os.getcwd()", { context })).text).toBe("/tmp");
    expect((await run("z")).error.name).toBe("NameError");
    expect((await sandbox.listCodeContexts()).map(({ id }: Loose) => id)).toContain(context.id);
    await sandbox.restartCodeContext(context);
    expect((await run("z", { context })).error.name).toBe("NameError");
    await sandbox.removeCodeContext(context);
    await expect(run("1", { context })).rejects.toThrow(`Context ${context.id} not found`);
  });
  test("31 a context and a language exclude each other", async () => {
    const context = await sandbox.createCodeContext();
    const both = run("1", { context, language: "python" });
    await expect(both).rejects.toMatchObject({ name: "InvalidArgumentError" });
    await sandbox.removeCodeContext(context);
  });
  test("27-30 languages (COMPAT-77)", async () => {
    expect((await run("1 + 1", { language: "javascript" })).text).toBe("2");
    await run("let q = 5", { language: "js" });
    expect((await run("q * 2", { language: "js" })).text).toBe("10");
    expect((await run("echo $HOME", { language: "bash" })).logs.stdout).toEqual(["/home/user\n"]);
    expect((await run("1", { language: "r" })).error.name).toBe("LanguageNotAvailable");
  });
  test("32-33 a client that gives up interrupts the run (COMPAT-73)", async () => {
    await expect(run("while True: pass", { timeoutMs: 1000 })).rejects.toMatchObject({ name: "TimeoutError" });
    expect((await run("6 * 7")).text).toBe("42");
  });
  test("34-35 runs in one context take turns, contexts are parallel", async () => {
    const both = await Promise.all([run("import time; time.sleep(0.3); n = 1"), run("n + 1")]);
    expect(both[1].text).toBe("2");
    const contexts = await Promise.all(Array.from({ length: 5 }, () => sandbox.createCodeContext()));
    // Each run waits until all of them have begun.
    const meet = (index: number): string => `
import os, time
open("/tmp/met-${index}", "w").close()
while not all(os.path.exists(f"/tmp/met-{other}") for other in range(5)): time.sleep(0.02)
${index}`;
    const texts = await Promise.all(contexts.map((context, index) => run(meet(index), { context })));
    expect(texts.map(({ text }) => text)).toEqual(["0", "1", "2", "3", "4"]);
  });
  test("36 a mebibyte of characters is not spoilt by chunks (COMPAT-70)", async () => {
    const { logs } = await run("print('漢字' * 180000)");
    expect(logs.stdout.join("")).toBe(`${"漢字".repeat(180_000)}\n`);
  });
  test("38-39 files and processes", async () => {
    await sandbox.files.write("f.txt", "inside");
    expect((await run("open('/home/user/f.txt').read()")).text).toBe("inside");
    const code = "import subprocess; subprocess.run(['id', '-un'], capture_output=True, text=True).stdout";
    expect((await run(code)).text).toBe("user\\n");
    expect(await run("!id -un\nx = 1")).toMatchObject({ logs: { stdout: ["user\n"] }, results: [] });
  });
  const killWhenBegun = async (): Promise<boolean> => {
    await expect.poll(() => sandbox.files.exists("began")).toBe(true);
    return sandbox.kill();
  };
  test("40 kill during a run", async () => {
    const code = "open('/home/user/began', 'w').close(); import time; time.sleep(60)";
    const [ended, killed] = await Promise.allSettled([run(code), killWhenBegun()]);
    expect([ended, killed]).toEqual([
      { status: "rejected", reason: expect.objectContaining({ name: "TimeoutError" }) },
      { status: "fulfilled", value: true },
    ]);
  });
});
