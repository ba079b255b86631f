import { once } from "node:events";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callSandbox, SandboxGone } from "./sandbox-control.ts";

let folder: string;
let stack: AsyncDisposableStack;

beforeEach(() => {
  stack = new AsyncDisposableStack();
  folder = mkdtempSync(join(tmpdir(), "control-"));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
});
afterEach(() => stack.disposeAsync());

async function serve(name: string, answer: (socket: Socket) => void): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on("error", () => undefined));
    answer(socket);
  });
  server.listen({ path: name });
  await once(server, "listening");
  stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

const call = (socket: string, timeoutMs = 10_000): Promise<unknown> =>
  callSandbox({ socket, method: "containerManager.Pause", argument: { deep: true }, timeoutMs });

describe("a call of a sandbox's control server", () => {
  test("sends the method with its argument and ends when the answer is a success", async () => {
    const requests: unknown[] = [];
    await serve(join(folder, "one"), (socket) => {
      let request = "";
      socket.on("data", (part) => (request += String(part)));
      socket.once("end", () => {
        requests.push(JSON.parse(request));
        socket.end('{"success":true,"err":"","result":{"pid":1}}');
      });
    });
    expect(await call(join(folder, "one"))).toEqual({ pid: 1 });
    expect(requests).toEqual([{ method: "containerManager.Pause", arg: { deep: true } }]);
  });

  test.for<[string, (socket: Socket) => unknown, string]>([
    ["that fails", (socket) => socket.end('{"success":false,"err":"no\\nsuch\\u2028thing"}'), ": no such thing"],
    ["without a reason", (socket) => socket.end('{"success":false}'), ": it gave no reason"],
    ["that claims success with a string", (socket) => socket.end('{"success":"true"}'), ": it gave no reason"],
    ["with a long reason", (socket) => socket.end(JSON.stringify({ err: "x".repeat(5000) })), `: ${"x".repeat(1024)}`],
    ["with another value than an object", (socket) => socket.end("null"), "its answer is not a JSON object"],
    ["with an incomplete object", (socket) => socket.end('{"success":true'), "its answer is not a JSON object"],
    ["that never ends", (socket) => socket.write("x".repeat(100_000)), "its answer is longer than 65536 bytes"],
    ["that closes the connection", (socket) => socket.end(), "it is not running"],
  ])("refuses an answer %s", async ([, answer, message]) => {
    await serve(join(folder, "one"), (socket) => void socket.resume().once("end", () => answer(socket)));
    const error = await call(join(folder, "one")).then(
      () => undefined,
      (reason: unknown) => reason as Error,
    );
    expect(error?.message.endsWith(message)).toBe(true);
  });

  test("ends when a sandbox does not answer in time", async () => {
    await serve(join(folder, "one"), () => undefined);
    await expect(call(join(folder, "one"), 50)).rejects.toThrow("no answer within 50 ms");
  });

  test("ends when the caller stops waiting", async () => {
    await serve(join(folder, "one"), () => undefined);
    const stopping = new AbortController();
    const waiting = callSandbox({
      socket: join(folder, "one"),
      method: "containerManager.WaitPID",
      timeoutMs: Number.POSITIVE_INFINITY,
      signal: stopping.signal,
    });
    stopping.abort();
    await expect(waiting).rejects.toThrow("the wait for its answer was ended");
  });

  test("reaches a socket whose path is longer than an address of a socket", async () => {
    await serve(
      join(folder, "one"),
      (socket) => void socket.resume().once("end", () => socket.end('{"success":true}')),
    );
    const long = join(folder, "x".repeat(100), "socket");
    mkdirSync(dirname(long));
    renameSync(join(folder, "one"), long);
    await call(long);
    await expect(call(`${long}-missing`)).rejects.toBeInstanceOf(SandboxGone);
  });

  test("says that a sandbox does not run whose socket is missing", async () => {
    await expect(call(join(folder, "none"))).rejects.toBeInstanceOf(SandboxGone);
  });
});
