import { connect, type Sandbox, type SandboxClient } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { freePort } from "../free-port.ts";
import { languageNames, languages } from "./languages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const commands = Number(process.env["SDK_COMMANDS"] ?? 100);
const kills = Number(process.env["SDK_KILLS"] ?? 1);
const concurrency = 16;

describe.skipIf(reason !== undefined)("commands while the box is killed", { timeout: 900_000 }, () => {
  let box: Box;
  let client: SandboxClient;
  let sandbox: Sandbox;
  let routerListen: string;

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
    sandbox = await client.create({ image: "host" });
  });
  afterAll(async () => {
    client?.close();
    await box?.[Symbol.asyncDispose]();
  });

  const killAndRestart = async (): Promise<void> => {
    process.kill(box.pid(), "SIGKILL");
    await up();
  };

  /** Kills the box when this many commands have run. */
  const killAfter = async (count: number): Promise<void> => {
    const ran = async (): Promise<number> =>
      (await sandbox.files.readText("ran").catch(() => "")).split("\n").length - 1;
    await vi.waitUntil(async () => (await ran()) >= count, { timeout: 600_000, interval: 50 });
    await killAndRestart();
  };

  test.each(languageNames)(
    `${commands} commands with %s run at most once, and exactly once if they succeed`,
    async (language) => {
      await sandbox.files.write("ran", "");
      await using runner = await languages[language](box.dataDir, sandbox.name);
      const running = runner.run({ title: "", call: "run_many", with: { count: commands, concurrency } });
      for (let kill = 0; kill < kills; kill += 1) await killAfter((commands * (kill + 0.5)) / kills);
      const { succeeded, failures } = (await running).result as { succeeded: number[]; failures: string[] };
      const ran = (await sandbox.files.readText("ran")).trim().split("\n").map(Number);
      expect(new Set(ran).size).toBe(ran.length);
      expect(succeeded.filter((number) => !ran.includes(number))).toEqual([]);
      // The sandbox runs on while the box is away, so every command can be completed.
      expect(failures).toEqual([]);
      expect(succeeded).toHaveLength(commands);
    },
  );

  test("a stream of output continues after the box was killed", async () => {
    await using process = await sandbox.commands.start("for i in $(seq 1 60); do echo line $i; sleep 0.1; done", {
      keepRunningMs: 60_000,
    });
    let output = "";
    let isKilled = false;
    for await (const { text } of process.output()) {
      output += text;
      if (!isKilled && output.includes("line 10\n")) {
        isKilled = true;
        await killAndRestart();
      }
    }
    expect(output).toBe(Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`).join(""));
    expect(await process.wait()).toEqual({ exitCode: 0, timedOut: false });
  });
});
