import { type Answer, jsonOf, open } from "../ask.ts";
import type { Run } from "../checklist.ts";
import { codes } from "../grpc-channel.ts";
import { ports, type Subject } from "../subject.ts";
import type { Message } from "../wire-messages.ts";
import { running } from "./legacy.ts";
import { begin, exitOf, until } from "./processes.ts";

const shell = (script: string): Message => ({ command: ["sh", "-c", script] });
const put = (at: Subject, path: string, body: string): Promise<Answer> =>
  at.rest(`/files/${path}`, { method: "PUT", body });

export const runtimeImprovements = {
  "a long command sends its headers early, and a timeout ends it": async ({ expect, subject, slow }) => {
    const body = JSON.stringify({ command: "sh -c 'sleep 7101 & sleep 7101'" });
    const answer = await subject.legacy("/execute", { method: "POST", body, headers: { "x-sandbox-timeout": "0.5" } });
    expect([answer.status, answer.headers["x-sandbox-reason"]]).toEqual([504, "Timeout"]);
    await expect.poll(() => running(subject, "sleep 7101"), { timeout: 5000 }).toBe(0);
    expect((await slow).longAnswer).toBe('{"stdout":"over\\n","stderr":"","exit_code":0}');
  },

  "a repeated request runs once": async ({ expect, subject }) => {
    await subject.shell("rm -f /var/tmp/once");
    const id = { "x-request-id": `once-${Math.random()}` };
    const run = () => subject.execute("sh -c 'echo x >> /var/tmp/once; sleep 0.3; wc -l < /var/tmp/once'", id);
    const answers = await Promise.all([run(), run()]);
    expect([...answers, await run()].map(({ stdout }) => stdout)).toEqual(["1\n", "1\n", "1\n"]);
    using channel = await subject.processes();
    const more = { requestId: `rpc-${Math.random()}` };
    const execute = () => channel.execute(shell("echo x >> /var/tmp/once; wc -l < /var/tmp/once"), more);
    expect([(await execute()).value.stdout, (await execute()).value.stdout]).toEqual(["2\n", "2\n"]);
  },

  "a command is killed when its client disconnects": async ({ expect, subject }) => {
    const gone = new AbortController();
    const body = JSON.stringify({ command: "sh -c 'sleep 7102 & sleep 7102'" });
    const headers = subject.headers(ports.legacy);
    const asked = open(subject.router, "/execute", { method: "POST", body, headers, signal: gone.signal });
    const ended = asked.catch((error: Error) => error.name);
    await expect.poll(() => running(subject, "sleep 7102")).toBe(2);
    gone.abort();
    expect(await ended).toBe("AbortError");
    await expect.poll(() => running(subject, "sleep 7102"), { timeout: 5000 }).toBe(0);
  },

  "a detached process outlives its stream and can be attached to": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const detached = await begin(channel, shell("echo first; read line; echo $line; exit 6"), { detach: true });
    await until(detached, "first");
    detached.call.cancel();
    using other = await subject.processes();
    const { processId } = detached;
    const { value } = await other.unary<{ processes: { processId: number; detached?: boolean }[] }>("List", {});
    expect(value.processes.find((each) => each.processId === processId)).toMatchObject({ detached: true });
    const attached = other.stream("Attach", { processId }).rest();
    const waited = other.unary("Wait", { processId });
    await other.unary("WriteStdin", { processId, input: "second\n" });
    const { events } = await attached;
    expect(events.map(({ stdout = "" }) => stdout).join("")).toBe("first\nsecond\n");
    expect([events.at(-1)?.exit, (await waited).value]).toEqual([{ exitCode: 6 }, { exit: { exitCode: 6 } }]);
  },

  "the whole process tree is killed": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const family = await begin(channel, shell("setsid sleep 7103 & sleep 7103 & echo started; wait"));
    await until(family, "started");
    await expect.poll(() => running(subject, "sleep 7103")).toBe(2);
    family.call.cancel();
    await expect.poll(() => running(subject, "sleep 7103"), { timeout: 5000 }).toBe(0);
  },

  "signals, descendants and terminals": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const background = await channel.execute(shell("echo kept; sleep 7104 & exit 0"), {});
    expect([background.code, background.value]).toEqual([codes.ok, { stdout: "kept\n", descendantsRunning: true }]);
    const hungUp = await begin(channel, shell("trap 'exit 11' HUP; echo ready; while :; do sleep 0.05; done"));
    await until(hungUp, "ready");
    await channel.unary("SendSignal", { processId: hungUp.processId, signal: 1 });
    expect(await exitOf(hungUp)).toEqual({ exitCode: 11 });
    const terminal = await begin(channel, shell("echo $TERM; cat; echo after"), { pty: { cols: 80, rows: 24 } });
    expect(await until(terminal, "xterm")).toContain("xterm-256color");
    await channel.unary("WriteStdin", { processId: terminal.processId, eof: {} });
    expect(await until(terminal, "after")).toContain("after");
    expect(await exitOf(terminal)).toEqual({});
  },

  "output and input are streamed beyond 4 MiB": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const { code, value } = await channel.execute(shell("head -c 6000000 /dev/zero | tr '\\0' y"));
    expect([code, value.stdout?.length]).toEqual([codes.ok, 6_000_000]);
    const cut = await channel.execute(shell("head -c 6000000 /dev/zero | tr '\\0' y"), { maxOutputBytes: 1000 });
    expect([cut.value.stdout?.length, cut.value.truncated]).toEqual([1000, true]);
    const counting = await begin(channel, { command: ["wc", "-c"] });
    const { processId } = counting;
    for (let round = 0; round < 3; round++) {
      await channel.unary("WriteStdin", { processId, input: "z".repeat(2_000_000) });
    }
    await channel.unary("WriteStdin", { processId, eof: {} });
    expect(await until(counting, "\n")).toBe("6000000\n");
  },

  "commands and scripts are separate, and each call has its own environment": async ({ expect, subject }) => {
    await subject.shell("mkdir -p place; chmod 0777 place");
    using channel = await subject.processes();
    const words = await channel.execute({ command: ["echo", "$HOME > x; *"] });
    expect(words.value.stdout).toBe("$HOME > x; *\n");
    const script = await channel.execute({
      shell: "echo $WHO in $(pwd); id -u",
      envVars: { WHO: "me" },
      cwd: "place",
      user: "1000",
    });
    expect(script.value.stdout).toBe("me in /workspace/place\n1000\n");
    const late = await channel.execute({ command: ["sleep", "7105"], timeout: { nanos: 300_000_000 } });
    expect(late.value).toMatchObject({ timedOut: true });
    expect((await channel.execute({ command: ["true"], shell: "true" })).code).toBe(codes.invalidArgument);
  },

  "names, links, bytes and line endings are preserved": async ({ expect, subject }) => {
    await subject.shell("rm -rf odd; mkdir odd; cd odd; printf x > 100%41; touch b a; ln -s none dangling");
    expect((await subject.legacy("/download/odd%2F100%2541")).text).toBe("x");
    const names = jsonOf<{ name: string }[]>(await subject.legacy("/list/odd")).map(({ name }) => name);
    expect(names).toEqual(["100%41", "a", "b"]);
    const binary = await subject.execute(String.raw`printf 'a\377\r\nb\r'`);
    expect(binary).toMatchObject({
      exit_code: 0,
      stdout_base64: Buffer.from("a\xff\r\nb\r", "latin1").toString("base64"),
    });
    expect((await subject.execute(String.raw`printf 'a\r\nb\r'`)).stdout).toBe("a\r\nb\r");
    const body = JSON.stringify({ command: "no-such-program" });
    const failed = await subject.legacy("/execute", { method: "POST", body });
    expect(failed.headers["x-sandbox-exec-error"]).toBe("not-found");
  },

  "files keep their mode and links their targets": async ({ expect, subject }) => {
    await subject.shell(
      "printf x > tool; chmod 0755 tool; printf y > kept; ln -sfn kept link; ln -sfn /etc away; rm -f pipe; mkfifo pipe",
    );
    await put(subject, "tool", "new");
    for (const link of ["link", "away"]) {
      expect((await subject.rest(`/files/${link}`, { method: "DELETE" })).status).toBe(204);
    }
    expect(await subject.shell("stat -c %a tool; cat kept; test -d /etc && echo whole")).toBe("755\nywhole\n");
    expect((await subject.rest("/files/pipe")).status).toBe(400);
    expect((await subject.rest("/files/kept", { method: "HEAD" })).headers["x-file-mode"]).toBe("0644");
    const below = await put(subject, "kept/below", "x");
    expect([below.status, jsonOf<{ code: string }>(below).code]).toEqual([409, "CONFLICT"]);
    expect((await subject.rest("/files/kept/below")).status).toBe(404);
    await subject.rest("/files/pipe", { method: "DELETE" });
  },

  "a replaced path component does not lead out of the root": async ({ expect, subject }) => {
    await subject.shell(
      "rm -rf race /var/tmp/victim; mkdir -p race/real /var/tmp/victim; printf inside > race/real/f; ln -s real race/d; printf secret > /var/tmp/victim/f",
    );
    using channel = await subject.processes();
    const script =
      "cd race; while :; do ln -sfn real d.new; mv -T d.new d; ln -sfn /var/tmp/victim d.new; mv -T d.new d; done";
    const swapping = await begin(channel, shell(script));
    const outcomes = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const [read, write] = await Promise.all([subject.rest("/files/race/d/f"), put(subject, "race/d/g", "x")]);
      outcomes.add(`${read.status} ${read.status === 200 ? read.text : ""}`.trim()).add(`put ${write.status}`);
    }
    swapping.call.cancel();
    const allowed = ["200 inside", "403", "404", "put 204", "put 403", "put 404"];
    expect([...outcomes].filter((each) => !allowed.includes(each))).toEqual([]);
    // Both states of the replaced component occurred, and nothing was written outside.
    expect([...outcomes]).toEqual(expect.arrayContaining(["200 inside", "403"]));
    expect(await subject.shell("ls /var/tmp/victim")).toBe("f\n");
  },
} satisfies Record<string, Run>;
