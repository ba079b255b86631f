import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { describe, expect, test } from "vitest";
import type { SandboxProcess } from "../runtime/oci-runtime.ts";
import { followSandbox } from "./exec-process.ts";

/** A stream with this content that has ended. */
const output = (content: string): Socket => new PassThrough().end(content) as unknown as Socket;

const running = (wait: SandboxProcess["wait"], stderr = output("")): SandboxProcess => ({
  stdin: undefined,
  stdout: output("out"),
  stderr,
  wait,
});

describe("a command that runs in a sandbox", () => {
  test("ends with its code and outputs, also if its stderr was closed before anybody listened", async () => {
    const closed = output("");
    closed.resume();
    await finished(closed);
    const { stdout, stderr, exit } = followSandbox(running(async () => 3, closed));
    expect(await Promise.all([text(stdout), text(stderr), exit])).toEqual(["out", "", { code: 3 }]);
  });

  test("says that the sandbox has ended", async () => {
    const lost = running(() => Promise.reject(new Error("it is not running")), output("error\n"));
    const { stdout, stderr, exit } = followSandbox(lost);
    const said = "error\nwaiting on pid of the sandbox: it is not running\n";
    expect(await Promise.all([text(stdout), text(stderr), exit])).toEqual(["out", said, { code: 128 }]);
  });

  test("ends at once when it is killed, whatever the sandbox does", async () => {
    const wait = (signal: AbortSignal): Promise<number> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("ended"))));
    const open = new PassThrough() as unknown as Socket;
    const session = followSandbox(running(wait, open));
    session.kill();
    expect(await session.exit).toEqual({ code: 137 });
  });
});
