import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, type Outcome, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("a command whose sandbox goes away", { timeout: 120_000 }, () => {
  let box: Box;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up("--default-runtime", "runc");
    if (code !== 0) throw new Error(stderr);
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  /** Runs a long command in a new sandbox, and ends the sandbox after the command has begun. */
  async function endDuring(name: string, ...ending: string[]): Promise<Outcome> {
    expect(await box.run("create", name)).toMatchObject({ code: 0 });
    const running = box.run("exec", name, "--", "sh", "-c", "echo begun; touch /root/begun; exec sleep 100000");
    const hasBegun = async (): Promise<string> => (await box.run("exec", name, "--", "ls", "/root")).stdout;
    await expect.poll(hasBegun, { timeout: 30_000 }).toContain("begun");
    expect(await box.run(...ending)).toMatchObject({ code: 0 });
    return running;
  }

  test.concurrent.each([
    {
      ending: ["suspend", "one"],
      says: 'The sandbox was suspended while the command ran; resume it with "agent-sandbox resume one".',
    },
    { ending: ["delete", "sandbox/two"], says: "The sandbox was deleted while the command ran." },
    { ending: ["restart", "three"], says: "The sandbox was restarted while the command ran: its Pod was replaced." },
  ])("exits with 137 and says why: $ending", async ({ ending, says }) => {
    const [name = ""] = ending.slice(1).map((word) => word.replace("sandbox/", ""));
    const { code, stdout, stderr } = await endDuring(name, ...ending);
    expect({ code, stdout }).toEqual({ code: 137, stdout: "begun\n" });
    expect(stderr.trim().split("\n").at(-1)).toContain(says);
  });
});
