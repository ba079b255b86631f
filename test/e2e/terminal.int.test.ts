import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, type Outcome, whyNoBox } from "./box.ts";
import { Terminal } from "./terminal.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("sessions in a terminal", { timeout: 120_000 }, () => {
  let box: Box;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
    for (const runtime of runtimes) await box.run("create", `work-${runtime}`, "--runtime", runtime);
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const runtimes = ["runc", "gvisor"] as const;
  const cli = (words: string): string => `dist/agent-sandbox --data-dir ${box.dataDir} ${words}`;
  const open = (words: string): Terminal => new Terminal(`stty rows 31 cols 97; ${cli(words)}`);
  const names = async (): Promise<string> => (await box.run("get", "sandboxes", "-o", "name")).stdout;
  const prompt = /[#$] $/;

  test.each([
    ...runtimes.map((runtime) => `shell work-${runtime}`),
    ...runtimes.map((runtime) => `exec -it work-${runtime} -- sh`),
    ...runtimes.map((runtime) => `run --rm -it --runtime ${runtime}`),
  ])("%s has a terminal of the same size, and returns the status of the shell", async (words) => {
    using terminal = open(words);
    await expect.poll(terminal.shown).toMatch(prompt);
    terminal.type("tty && stty size; exit 7\r");
    expect(await terminal.status(), `it shows ${terminal.shown()}`).toBe(7);
    expect(terminal.shown()).toMatch(/\/dev\/\S+\r\n31 97\r\n/);
    expect((await names()).match(/\/run-/)).toBeNull();
  });

  test("Ctrl-C reaches the command, and the terminal is as before afterwards", async () => {
    const script = 'trap "echo interrupted; exit 5" INT; echo started; while :; do sleep 0.1; done';
    using terminal = new Terminal(`${cli(`run --rm -it -- sh -c '${script}'`)}; echo "status $?"; stty -a`);
    await expect.poll(terminal.shown).toContain("started\r\n");
    terminal.type("\u0003");
    expect(await terminal.status()).toBe(0);
    expect(terminal.shown()).toMatch(/interrupted\r\nstatus 5\r\n/);
    for (const mode of ["opost", "icanon", "echo"]) expect(terminal.shown()).toMatch(new RegExp(`\\s${mode}\\s`));
    expect(await names()).not.toContain("run-");
  });

  /** A pipe in a sandbox, whose two lines are further apart than two lines of progress. */
  const slowly = (path: string): Promise<Outcome> => {
    const write = `sh -c '{ echo first; sleep 1; echo last; } > ${path}'`;
    return box.run("exec", "work-runc", "--", "sh", "-c", `mkfifo ${path}; setsid ${write} > /dev/null 2>&1 &`);
  };

  test("cp - prints only the data on a terminal, and reads what is typed", async () => {
    await slowly("/tmp/slow");
    using terminal = open("cp work-runc:/tmp/slow -");
    expect(await terminal.status()).toBe(0);
    expect(terminal.shown()).toBe("first\r\nlast\r\n");
    using typing = open("cp - work-runc:/tmp/typed");
    typing.type("one\r");
    await sleep(1000);
    typing.type("two\r\u0004");
    expect(await typing.status()).toBe(0);
    expect(typing.shown()).not.toMatch(/\dB/);
    expect((await box.run("exec", "work-runc", "--", "cat", "/tmp/typed")).stdout).toBe("one\ntwo\n");
  });

  test("cp - shows the bytes on a terminal if the data goes elsewhere", async () => {
    await slowly("/tmp/slower");
    const file = join(box.dataDir, "copied");
    using terminal = open(`cp work-runc:/tmp/slower - > ${file}`);
    expect(await terminal.status()).toBe(0);
    expect(terminal.shown()).toContain("6B");
    expect(terminal.shown()).not.toContain("files");
    expect(readFileSync(file, "utf8")).toBe("first\nlast\n");
  });

  test.each(["sleep 1000", "sh -c 'trap : HUP; sleep 1000'"])(
    "run --rm -it -- %s leaves nothing behind when its terminal is closed",
    async (command) => {
      const terminal = open(`run --rm -it --name lost -- sh -c 'echo started; exec "$@"' sh ${command}`);
      await expect.poll(terminal.shown).toContain("started");
      expect(await names()).toContain("/lost\n");
      terminal[Symbol.dispose]();
      await expect.poll(names).not.toContain("/lost");
    },
  );
});
