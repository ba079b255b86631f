import { RpcError } from "../../connect/rpc-error.ts";
import { callProcess, type ProcessEvent, streamProcess } from "../../runtime/process-calls.ts";
import { absolutePath, actingUser, basicUser } from "./acting-user.ts";
import type { EnvdCall } from "./context.ts";
import { processEnvironment } from "./process-environment.ts";
import { eventOf } from "./process-events.ts";
import { readStart, type StartRequest } from "./process-request.ts";
import { requireSandbox } from "./require-sandbox.ts";
import type { StreamMethod } from "./rpc.ts";
import { timeLimitMs } from "./time-limit.ts";

/** `process.Process/Start`. The process goes on when the client disconnects. */
export const startProcess: StreamMethod = async (call, message, sink) => {
  const wanted = readStart(message);
  const user = await actingUser(call, basicUser(call.request.headers.authorization));
  const limitMs = timeLimitMs(call.request.headers["connect-timeout-ms"]);
  const cwd = absolutePath(wanted.cwd ?? "", user);
  const config = {
    envVars: await processEnvironment(call, wanted.environment),
    cwd,
    ...(user.name !== undefined && { user: user.name }),
    ...(limitMs !== undefined && { timeout: `${limitMs / 1000}s` }),
  };
  const { context, target, signal } = call;
  for (const command of commandsFor(wanted.command)) {
    const start = { config: { ...config, command }, detach: true, ...(wanted.terminal && { pty: wanted.terminal }) };
    const events = streamProcess(context.runtime, target, "Start", start, signal);
    try {
      await relay(call, wanted, events, sink.send.bind(sink));
      return;
    } catch (error) {
      if (!isMissing(error, command)) throw explain(error, cwd);
    }
  }
};

/** An image without bash has a shell that understands what the clients ask of it. */
function commandsFor(command: readonly string[]): readonly (readonly string[])[] {
  return command[0] === "/bin/bash" ? [command, ["/bin/sh", ...command.slice(1)]] : [command];
}

function isMissing(error: unknown, [program]: readonly string[]): boolean {
  return program === "/bin/bash" && error instanceof RpcError && error.message.startsWith('Cannot start "/bin/bash"');
}

async function relay(
  call: EnvdCall,
  { terminal, hasInput }: StartRequest,
  events: AsyncIterable<ProcessEvent>,
  send: (message: object) => Promise<void>,
): Promise<void> {
  const { context, target } = call;
  for await (const event of events) {
    const pid = event.init?.processId;
    if (pid !== undefined && !hasInput && terminal === undefined) {
      const input = { processId: pid, eof: {} };
      // A process that has already ended needs no end of its input.
      callProcess(context.runtime, target, "WriteStdin", input).catch(() => undefined);
    }
    requireSandbox(call, event);
    const message = eventOf(event, terminal !== undefined);
    if (message !== undefined) await send(message);
  }
}

function explain(error: unknown, cwd: string): unknown {
  if (!(error instanceof RpcError)) return error;
  const { code, message } = error;
  if (message.startsWith("Cannot enter")) {
    return new RpcError("invalid_argument", `cwd '${cwd}' does not exist or is not a directory`, { cause: error });
  }
  return code === "not_found" ? new RpcError("invalid_argument", message, { cause: error }) : error;
}
