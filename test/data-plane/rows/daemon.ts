import type { Rows } from "../checklist.ts";
import { withDaemon } from "../second-daemon.ts";
import { ports } from "../subject.ts";
import { begin, exitOf, until } from "./processes.ts";

export const daemon: Rows<"daemon"> = {
  "invalid flags are refused": async ({ expect, subject }) => {
    const run = (flags: string) => subject.execute(`/opt/agent-sandbox/sandboxd run --insecure-no-token ${flags}`);
    for (const flags of ["--grpc-port=8080", "--rest-port=0", "--root-dir=", "--shutdown-timeout=0s", "--nonsense"]) {
      const { exit_code, stderr } = await run(flags);
      expect([flags, exit_code, stderr !== ""]).toEqual([flags, 1, true]);
    }
    const { exit_code, stderr } = await subject.execute("/opt/agent-sandbox/sandboxd run");
    expect([exit_code, stderr]).toEqual([1, expect.stringContaining("SANDBOXD_TOKEN_FILE")]);
    expect((await run("--version")).exit_code).toBe(0);
  },

  "child processes get the daemon's addresses": async ({ expect, subject }) => {
    const script = "echo $SANDBOXD_GRPC_ADDR $SANDBOXD_REST_ADDR ${SANDBOXD_TOKEN_FILE:-none}";
    expect(await subject.shell(script)).toBe("localhost:9090 localhost:8080 none\n");
  },

  "shutdown fails health checks, ends streams and kills processes that ignore it": async ({ expect, subject }) => {
    await withDaemon(subject, { flags: ["--root-dir=/var/tmp/second"] }, async (second) => {
      using channel = await second.processes();
      const polite = await begin(channel, { command: ["sleep", "7009"] });
      const stubborn = await begin(channel, {
        command: ["sh", "-c", "trap '' TERM; echo armed; while :; do sleep 0.1; done"],
      });
      await until(stubborn, "armed");
      await second.stop();
      await expect.poll(async () => (await second.rest("/health")).status).toBe(503);
      expect((await second.rest("/health")).text).toBe('{"code":"UNAVAILABLE","message":"sandboxd is shutting down"}');
      expect(await exitOf(polite)).toEqual({ exitCode: -1, signal: 15 });
      expect(await exitOf(stubborn)).toEqual({ exitCode: -1, signal: 9 });
      expect(await second.ended).toBe(0);
    });
  },

  "incomplete request heads time out": async ({ expect, slow }) => {
    expect((await slow).hungUpOn).toEqual([ports.legacy, ports.rest]);
  },
};
