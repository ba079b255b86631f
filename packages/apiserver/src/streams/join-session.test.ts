import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { Status } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { exitStatus } from "./exit-status.ts";
import { FakeSession } from "./fake-pod-streams.test.support.ts";
import { joinSession } from "./join-session.ts";

function open() {
  const gone = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<Status>();
  let resize: (message: string) => void = () => undefined;
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: undefined };
  const session = new FakeSession({ namespace: "n", pod: "p", command: ["x"], tty: true, stdin: true });
  let isKilled = false;
  void session.killed.then(() => {
    isKilled = true;
    return isKilled;
  });
  const client = {
    ...streams,
    gone: gone.promise,
    onResize: (listener: typeof resize) => {
      resize = listener;
    },
    finish: async (status: Status) => finished.resolve(status),
  };
  const joined = joinSession(client, session, exitStatus);
  const hangUp = (): Promise<void> => {
    gone.resolve();
    return gone.promise;
  };
  return {
    ...streams,
    session,
    finished,
    joined,
    hangUp,
    resize: (text: string) => resize(text),
    isKilled: () => isKilled,
  };
}

describe("joinSession()", () => {
  test("copies all streams and their ends", async () => {
    const { stdin, stdout, session, finished } = open();
    stdin.end("in");
    expect(await text(session.stdin)).toBe("in");
    session.stdout.write("out");
    session.stderr.write("nobody asked for this");
    session.finish(3);
    expect(await text(stdout)).toBe("out");
    expect(await finished.promise).toMatchObject({ reason: "NonZeroExitCode" });
  });

  test("a client that disconnects ends the command", async () => {
    const { session, hangUp, joined } = open();
    await hangUp();
    await session.killed;
    await joined;
    expect(await session.exit).toMatchObject({ signal: "SIGKILL" });
  });

  test("a command that has ended is not killed, so its background processes keep running", async () => {
    const { session, stdout, hangUp, joined, isKilled } = open();
    stdout.resume();
    session.finish(0);
    await joined;
    await hangUp();
    await new Promise(setImmediate);
    expect(isKilled()).toBe(false);
  });

  test("input for a command that no longer reads does not block its output", async () => {
    const { stdin, session } = open();
    session.stdin.destroy();
    await once(session.stdin, "close");
    for (let round = 0; round < 100; round += 1) {
      if (!stdin.write(Buffer.alloc(16_384))) await once(stdin, "drain");
    }
    expect(stdin.readableLength).toBeLessThan(100_000);
    session.kill();
  });

  test("the terminal gets the size that the client sends", () => {
    const { resize, session } = open();
    for (const message of [
      '{"Width":80,"Height":24}',
      '{"Width":0,"Height":1}',
      "no size",
      '{"Width":70000,"Height":1}',
    ])
      resize(message);
    expect(session.sizes).toEqual(["80x24"]);
    session.kill();
  });
});
