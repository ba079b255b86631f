import { PassThrough } from "node:stream";
import type { ExecRequest, ExecSession, PodStreams } from "@agent-sandbox/kube";

/**
 * A simulated node. Its commands: `cat` echoes, `both` writes to both outputs, `fail N` exits with N, and others exit with 127.
 * Its ports echo.
 */
export const simulatedNode: PodStreams = {
  exec: async (request) => play(request),
  portForward: async () => new PassThrough(),
};

function play({ command: [name, argument] }: ExecRequest): ExecSession {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { promise: exit, resolve } = Promise.withResolvers<{ code: number }>();
  const finish = (code: number): void => {
    stdout.end();
    stderr.end();
    resolve({ code });
  };
  switch (name) {
    case "cat":
      stdin.pipe(stdout).once("finish", () => finish(0));
      break;
    case "both":
      stdout.write("to stdout\n");
      stderr.write("to stderr\n");
      finish(0);
      break;
    case "fail":
      finish(Number(argument));
      break;
    default:
      finish(127);
  }
  return { stdin, stdout, stderr, exit, resize: () => undefined, kill: () => finish(137) };
}
