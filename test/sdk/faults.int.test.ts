import { connect, isSandboxError, type Sandbox, type SandboxClient } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { freePort } from "../free-port.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const commands = Number(process.env["SDK_COMMANDS"] ?? 200);
const kills = Number(process.env["SDK_KILLS"] ?? 2);
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

  test(`${commands} commands run at most once, and exactly once if they succeed`, async () => {
    let next = 0;
    let killed = 0;
    const succeeded = new Set<number>();
    const failures: unknown[] = [];
    const worker = async (): Promise<void> => {
      for (let number = next++; number < commands; number = next++) {
        try {
          // The sleep makes it likely that a command is under way when the box dies.
          const { stdout } = await sandbox.commands.run(`sleep 0.05; echo ${number} >> ran; echo ${number}`, {
            timeoutMs: 120_000,
          });
          expect(stdout).toBe(`${number}\n`);
          succeeded.add(number);
        } catch (error) {
          failures.push(error);
        }
      }
    };
    const killer = (async () => {
      for (; killed < kills; killed++) {
        const target = Math.floor((commands * (killed + 0.5)) / kills);
        await vi.waitUntil(() => next >= target, { timeout: 600_000, interval: 5 });
        await killAndRestart();
      }
    })();
    await Promise.all([killer, ...Array.from({ length: concurrency }, worker)]);
    const ran = (await sandbox.files.readText("ran")).trim().split("\n").map(Number);
    expect(killed).toBe(kills);
    expect(new Set(ran).size).toBe(ran.length);
    expect([...succeeded].filter((number) => !ran.includes(number))).toEqual([]);
    expect(failures.filter((error) => !isSandboxError(error))).toEqual([]);
    // The sandbox runs on while the box is away, so every command can be completed.
    expect(failures).toEqual([]);
    expect(succeeded.size).toBe(commands);
  });

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
