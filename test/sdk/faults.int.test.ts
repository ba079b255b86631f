import { connect, type Sandbox, type SandboxClient } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { freePort } from "../free-port.ts";
import type { Runner } from "./contract.ts";
import { goBuildTimeoutMs } from "./go-module.ts";
import { languageNames, languages } from "./languages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const commands = Number(process.env["SDK_COMMANDS"] ?? 100);
const kills = Number(process.env["SDK_KILLS"] ?? 1);
const concurrency = 8;

describe.skipIf(reason !== undefined)("commands while the box is killed", { timeout: 900_000 }, () => {
  let box: Box;
  let client: SandboxClient;
  let routerListen: string;
  /** Each language has its own sandbox, so that all can be tested with the same kills. */
  let arms: { readonly language: string; readonly sandbox: Sandbox; readonly runner: Runner }[] = [];

  const up = async (): Promise<void> => {
    const { code, stderr } = await box.up("--router-listen", routerListen);
    if (code !== 0) throw new Error(stderr);
  };

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    routerListen = `127.0.0.1:${await freePort()}`;
    await up();
    client = await connect({ dataDir: box.dataDir });
    const open = async (language: (typeof languageNames)[number]): Promise<(typeof arms)[number]> => {
      const sandbox = await client.create({ image: "host", name: `faults-${language.toLowerCase()}` });
      await sandbox.files.write("ran", "");
      return { language, sandbox, runner: await languages[language](box.dataDir, sandbox.name) };
    };
    arms = await Promise.all(languageNames.map(open));
  }, goBuildTimeoutMs);
  afterAll(async () => {
    await Promise.all(arms.map(({ runner }) => runner[Symbol.asyncDispose]()));
    client?.close();
    await box?.[Symbol.asyncDispose]();
  });

  const linesOf = async (sandbox: Sandbox, file: string): Promise<string[]> =>
    (await sandbox.files.readText(file).catch(() => "")).split("\n").slice(0, -1);

  /** Kills the box when the file of one or every sandbox has this many lines, and starts it again. */
  const killAfter = async (count: number, file: string, which: "some" | "every"): Promise<void> => {
    const hasEnough = async (): Promise<boolean> => {
      const lines = await Promise.all(arms.map(({ sandbox }) => linesOf(sandbox, file)));
      return lines[which](({ length }) => length >= count);
    };
    await vi.waitUntil(hasEnough, { timeout: 600_000, interval: 50 });
    process.kill(box.pid(), "SIGKILL");
    await up();
  };

  test(`${commands} commands with each SDK run at most once, and exactly once if they succeed`, async () => {
    const running = arms.map(({ runner }) =>
      runner.run({ title: "", call: "run_many", with: { count: commands, concurrency } }),
    );
    for (let kill = 0; kill < kills; kill += 1) await killAfter((commands * (kill + 0.5)) / kills, "ran", "some");
    const outcomes = await Promise.all(running);
    for (const [index, { language, sandbox }] of arms.entries()) {
      const { succeeded, failures } = (outcomes[index]?.result ?? {}) as { succeeded: number[]; failures: string[] };
      const ran = (await linesOf(sandbox, "ran")).map(Number);
      const twice = ran.filter((number, place) => ran.indexOf(number) !== place);
      const notRun = succeeded.filter((number) => !ran.includes(number));
      // The sandbox runs on while the box is away, so every command can be completed.
      const wanted = { language, twice: [], notRun: [], failures: [], succeeded: commands };
      expect({ language, twice, notRun, failures, succeeded: succeeded.length }).toEqual(wanted);
    }
  });

  test("a stream of output continues after the box was killed", async () => {
    const script = "for i in $(seq 1 60); do echo line $i; echo $i >> written; sleep 0.1; done";
    const start = { title: "", call: "start", with: { script, keep_running_seconds: 60 } };
    const running = arms.map(({ runner }) => runner.run(start));
    await killAfter(10, "written", "every");
    const output = Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`).join("");
    for (const outcome of await Promise.all(running)) expect(outcome.result).toEqual({ output, exit_code: 0 });
  });
});
