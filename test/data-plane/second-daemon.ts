import { type Answer, jsonOf, type Question } from "./ask.ts";
import { GrpcChannel } from "./grpc-channel.ts";
import type { Subject } from "./subject.ts";

const ports = { legacy: 18_888, rest: 18_080, grpc: 19_090 };

export interface DaemonOptions {
  readonly envVars?: Record<string, string>;
  readonly flags?: readonly string[];
}

/** A second daemon in the same sandbox, which can be stopped without ending the sandbox. */
export interface Daemon {
  readonly legacy: (target: string, question?: Question) => Promise<Answer>;
  readonly rest: (target: string) => Promise<Answer>;
  readonly processes: () => Promise<GrpcChannel>;
  /** Sends SIGTERM. */
  readonly stop: () => Promise<void>;
  /** Resolves with its exit code. */
  readonly ended: Promise<number>;
}

export async function withDaemon(
  at: Subject,
  { envVars = {}, flags = [] }: DaemonOptions,
  use: (daemon: Daemon) => Promise<void>,
): Promise<void> {
  using channel = await at.processes();
  const portFlags = Object.entries(ports).map(([name, port]) => `--${name}-port=${port}`);
  const command = ["/opt/agent-sandbox/sandboxd", "run", "--insecure-no-token", "--socket=/tmp/second.sock"];
  const call = channel.start({ command: [...command, ...portFlags, ...flags], envVars });
  const events = call.events();
  const processId = (await events.next()).value?.init?.processId as number;
  const said: string[] = [];
  const ended = (async () => {
    let code = -1;
    for await (const { stderr, exit } of events) {
      if (stderr !== undefined) said.push(stderr);
      if (exit !== undefined) code = exit.exitCode ?? 0;
    }
    return code;
  })();
  const { ready } = jsonOf<{ ready: boolean }>(await at.rest(`/ports/${ports.grpc}?wait=20s`));
  if (!ready) throw new Error(`the second daemon does not listen: ${said.join("")}`);
  try {
    await use({
      legacy: (target, question) => at.ask(ports.legacy, target, question),
      rest: (target) => at.ask(ports.rest, `/v1${target}`),
      processes: () => GrpcChannel.open(at.router, at.headers(ports.grpc)),
      stop: async () => void (await channel.unary("SendSignal", { processId, signal: 15 })),
      ended,
    });
  } finally {
    call.cancel();
    await ended.catch(() => undefined);
  }
}
