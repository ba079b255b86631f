import { jsonOf } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import { type Call, codes, type Event, type GrpcChannel } from "../grpc-channel.ts";
import { ports } from "../subject.ts";
import type { Message } from "../wire-messages.ts";

const shell = (script: string): Message => ({ command: ["sh", "-c", script] });

/** Starts a process and waits for its init event. Its output is read step by step. */
export async function begin(channel: GrpcChannel, config: Message, more: Message = {}): Promise<Begun> {
  const call = channel.start(config, more);
  const events = call.events();
  const first = (await events.next()).value as Event | undefined;
  if (first?.init === undefined) throw new Error(`no init: ${JSON.stringify(first)} ${(await call.ended).detail}`);
  return { call, events, processId: first.init.processId };
}

export interface Begun {
  readonly call: Call;
  readonly events: AsyncGenerator<Event>;
  readonly processId: number;
}

/** Reads output until it contains the text. */
export async function until({ events }: Begun, text: string): Promise<string> {
  let seen = "";
  while (!seen.includes(text)) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`the stream ended after "${seen}"`);
    seen += value.stdout ?? "";
  }
  return seen;
}

export async function exitOf({ events }: Begun): Promise<Event["exit"]> {
  let exit: Event["exit"];
  for await (const event of events) exit = event.exit ?? exit;
  return exit;
}

const code = async (reply: Promise<{ code: number }>): Promise<number> => (await reply).code;

export const processes: Rows<"processes"> = {
  "a stream begins with init and ends with exit": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const { events, code: status } = await channel.start(shell("echo out; echo err >&2; exit 3")).rest();
    const kinds = events.map((event) => Object.keys(event)[0]);
    expect([kinds[0], kinds.at(-1), new Set(kinds), status]).toEqual([
      "init",
      "exit",
      new Set(["init", "stdout", "stderr", "exit"]),
      codes.ok,
    ]);
    expect(events[0]?.init?.processId).toBeGreaterThan(0);
    expect(events.at(-1)?.exit).toEqual({ exitCode: 3 });
  },

  "output chunks have at most 4096 bytes": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const { events } = await channel.start(shell("head -c 100000 /dev/zero | tr '\\0' x")).rest();
    const sizes = events.flatMap(({ stdout }) => (stdout === undefined ? [] : [stdout.length]));
    expect([sizes.reduce((sum, size) => sum + size, 0), Math.max(...sizes) <= 4096]).toEqual([100_000, true]);
  },

  "exit codes": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const exits = ["exit 0", "exit 42", "kill -9 $$"].map(
      async (script) => (await channel.start(shell(script)).rest()).events.at(-1)?.exit,
    );
    expect(await Promise.all(exits)).toEqual([{}, { exitCode: 42 }, { exitCode: -1, signal: 9 }]);
  },

  "the environment can be overridden": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const config = { ...shell('echo "$COLOUR $MORE $SANDBOX_COLOUR"'), envVars: { COLOUR: "blue", MORE: "yes" } };
    expect((await channel.execute(config)).value.stdout).toBe("blue yes green\n");
  },

  "the working directory is confined": async ({ expect, subject }) => {
    await subject.shell("mkdir -p here; ln -sfn /etc outside");
    using channel = await subject.processes();
    const at = async (cwd: string) => {
      const reply = await channel.execute({ command: ["pwd"], cwd });
      return reply.value.stdout ?? reply.code;
    };
    expect([await at(""), await at("here"), await at("/workspace/here")]).toEqual([
      "/workspace\n",
      "/workspace/here\n",
      "/workspace/here\n",
    ]);
    expect([await at(".."), await at("outside"), await at("none")]).toEqual([
      codes.permissionDenied,
      codes.permissionDenied,
      codes.notFound,
    ]);
  },

  "programs are looked up in the daemon's PATH": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const { value } = await channel.execute({ command: ["sh", "-c", "echo $PATH"], envVars: { PATH: "/nowhere" } });
    expect(value.stdout).toBe("/nowhere\n");
  },

  "standard input and its end": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const cat = await begin(channel, { command: ["cat"] });
    const write = (payload: Message): Promise<number> =>
      code(channel.unary("WriteStdin", { processId: cat.processId, ...payload }));
    expect([await write({ input: "hello\n" }), await write({ input: "" }), await write({})]).toEqual([0, 0, 0]);
    expect(await until(cat, "\n")).toBe("hello\n");
    expect(await write({ eof: {} })).toBe(codes.ok);
    expect(await exitOf(cat)).toEqual({});
  },

  "standard input of a process without one": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const sleeping = await begin(channel, shell("exec <&-; echo closed; sleep 7003"));
    await until(sleeping, "closed");
    const write = (processId: number, payload: Message): Promise<number> =>
      code(channel.unary("WriteStdin", { processId, ...payload }));
    expect(await write(sleeping.processId, { eof: {} })).toBe(codes.ok);
    expect(await write(sleeping.processId, { input: "late" })).toBe(codes.internal);
    sleeping.call.cancel();
    const executing = channel.execute({ command: ["sleep", "7004"] });
    const found = async (): Promise<number | undefined> => {
      const { value } = await channel.unary<{ processes?: { processId: number; command: string[] }[] }>("List", {});
      return value.processes?.find(({ command }) => command.includes("7004"))?.processId;
    };
    await expect.poll(found).toBeDefined();
    const processId = (await found()) ?? 0;
    expect(await write(processId, { input: "x" })).toBe(codes.failedPrecondition);
    await channel.unary("SendSignal", { processId, signal: 9 });
    await executing;
  },

  "signals reach the process group": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const family = await begin(channel, shell("sh -c 'echo child; exec sleep 7005' & echo parent; wait"));
    await until(family, "child");
    expect(await code(channel.unary("SendSignal", { processId: family.processId, signal: 15 }))).toBe(codes.ok);
    expect(await exitOf(family)).toEqual({ exitCode: -1, signal: 15 });
    await expect.poll(() => subject.shell("pgrep -fc '[s]leep 7005' || true")).toBe("0\n");
  },

  "unknown signals are refused": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const one = await begin(channel, { command: ["sleep", "7006"] });
    const send = (signal: number): Promise<number> =>
      code(channel.unary("SendSignal", { processId: one.processId, signal }));
    expect([await send(0), await send(200)]).toEqual([codes.invalidArgument, codes.invalidArgument]);
    one.call.cancel();
  },

  "a terminal has its size from the start": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const { events } = await channel
      .start(shell("stty size; echo err >&2; tty"), { pty: { cols: 100, rows: 30 } })
      .rest();
    const output = events.map(({ stdout = "" }) => stdout).join("");
    expect(output).toMatch(/^30 100\r\nerr\r\n\/dev\/pts\/\d+\r\n$/);
    expect(events.some(({ stderr }) => stderr !== undefined)).toBe(false);
  },

  "a terminal can be resized": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const script = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done";
    const terminal = await begin(channel, shell(script), { pty: { cols: 80, rows: 24 } });
    await until(terminal, "ready");
    const resized = { processId: terminal.processId, cols: 132, rows: 43 };
    expect(await code(channel.unary("ResizeTTY", resized))).toBe(codes.ok);
    expect(await until(terminal, "43 132")).toContain("43 132\r\n");
    expect(await exitOf(terminal)).toEqual({});
  },

  "a resize without a terminal is refused": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const plain = await begin(channel, { command: ["sleep", "7007"] });
    const resize = (processId: number): Promise<number> =>
      code(channel.unary("ResizeTTY", { processId, cols: 1, rows: 1 }));
    expect(await resize(plain.processId)).toBe(codes.failedPrecondition);
    plain.call.cancel();
    const ended = await begin(channel, { command: ["true"] }, { pty: { cols: 1, rows: 1 }, detach: true });
    await exitOf(ended);
    expect(await resize(ended.processId)).toBe(codes.failedPrecondition);
  },

  "unknown processes are reported": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const processId = 123_456;
    const replies = await Promise.all([
      channel.unary("WriteStdin", { processId, input: "x" }),
      channel.unary("SendSignal", { processId, signal: 15 }),
      channel.unary("ResizeTTY", { processId, cols: 1, rows: 1 }),
    ]);
    expect(replies.map(({ code: status, detail }) => [status, detail])).toEqual(
      Array.from(replies, () => [codes.notFound, "process 123456 not found"]),
    );
    // Without detach, a process is forgotten when its stream ends.
    const short = await begin(channel, { command: ["true"] });
    await exitOf(short);
    await expect
      .poll(() => code(channel.unary("SendSignal", { processId: short.processId, signal: 15 })))
      .toBe(codes.notFound);
  },

  "commands that cannot be started are reported": async ({ expect, subject }) => {
    using channel = await subject.processes();
    for (const method of ["Start", "Execute"] as const) {
      const attempts = [[], ["no-such-program"], ["/workspace/none"], ["/etc/passwd"]].map((command) =>
        code(channel.unary(method, { config: { command } })),
      );
      expect(await Promise.all(attempts)).toEqual([
        codes.invalidArgument,
        codes.notFound,
        codes.notFound,
        codes.permissionDenied,
      ]);
    }
  },

  "execute returns everything at once": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const { code: status, value } = await channel.execute(shell("cat; echo out; echo err >&2; exit 5"));
    expect([status, value]).toEqual([codes.ok, { exitCode: 5, stdout: "out\n", stderr: "err\n" }]);
  },

  "execute is cancelled at its deadline": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const config = shell("sleep 7008 & sleep 7008");
    const reply = await channel.unary("Execute", { config }, { "grpc-timeout": "500m" });
    expect(reply.code).toBe(codes.deadlineExceeded);
    await expect.poll(() => subject.shell("pgrep -fc '[s]leep 7008' || true")).toBe("0\n");
  },

  "a slow reader applies backpressure to the process": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const script = "i=0; while :; do printf %04096d 0; i=$((i+1)); echo $i > /var/tmp/progress; done";
    const call = channel.start(shell(script));
    const progress = async (): Promise<number> => Number(await subject.shell("cat /var/tmp/progress"));
    let last = -1;
    // It is blocked if nothing was written for half a second.
    await expect
      .poll(
        async () => {
          const [before, now] = [last, await progress()];
          last = now;
          return now > 0 && now === before;
        },
        { interval: 500, timeout: 30_000 },
      )
      .toBe(true);
    // 16 MiB is far more than all buffers in between.
    expect(last * 4096).toBeLessThan(16 << 20);
    call.cancel();
  },

  "server reflection lists the service": async ({ expect, subject }) => {
    using channel = await subject.processes();
    // ServerReflectionRequest with list_services, field 7, empty.
    const bytes = await channel.raw(
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      Buffer.from([0x3a, 0]),
    );
    expect(bytes.toString("latin1")).toContain("process.v1.ProcessService");
  },

  "the same port serves Connect": async ({ expect, subject }) => {
    const body = JSON.stringify({ config: { command: ["echo", "hi"] } });
    const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
    const answer = await subject.ask(ports.grpc, "/process.v1.ProcessService/Execute", {
      method: "POST",
      body,
      headers,
    });
    expect([answer.status, jsonOf(answer)]).toEqual([200, { stdout: Buffer.from("hi\n").toString("base64") }]);
  },
};
