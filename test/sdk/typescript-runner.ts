import {
  type CommandResult,
  type ConnectOptions,
  connect,
  type Exit,
  type Process,
  type Sandbox,
  type SandboxClient,
  SandboxError,
} from "@agent-sandbox/sdk";
import type { Case, Outcome, Runner } from "./contract.ts";

/** Runs the cases of the contract with the TypeScript SDK. */
export class TypeScriptRunner implements Runner {
  readonly #client: SandboxClient;
  readonly #options: ConnectOptions;
  readonly #sandbox: Sandbox;

  private constructor(client: SandboxClient, options: ConnectOptions, sandbox: Sandbox) {
    this.#client = client;
    this.#options = options;
    this.#sandbox = sandbox;
  }

  static async open(options: ConnectOptions, sandbox: string): Promise<TypeScriptRunner> {
    const client = await connect(options);
    return new TypeScriptRunner(client, options, await client.get(sandbox));
  }

  async run({ call, with: wanted }: Case): Promise<Outcome> {
    try {
      return {
        error: undefined,
        result: await calls[call]?.(this.#sandbox, wanted as never, { client: this.#client, options: this.#options }),
      };
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      const { reason, status, message } = error;
      return { result: undefined, error: { reason, ...(status !== undefined && { status }), message } };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
  }
}

interface World {
  readonly client: SandboxClient;
  readonly options: ConnectOptions;
}

type Call = (sandbox: Sandbox, wanted: never, world: World) => Promise<unknown>;

interface RunArguments {
  readonly script?: string;
  readonly argv?: readonly string[];
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly user?: string;
  readonly stdin?: string;
  readonly timeout_seconds?: number;
  readonly max_output_bytes?: number;
  readonly stream?: boolean;
  readonly token?: string;
}

async function run(sandbox: Sandbox, wanted: RunArguments, { options }: World): Promise<unknown> {
  const { script, argv, env, cwd, user, stdin, timeout_seconds, max_output_bytes, stream, token } = wanted;
  let streamed = "";
  const hear = (text: string): void => void (streamed += text);
  using other = token === undefined ? undefined : await connect({ ...options, token });
  const target = other === undefined ? sandbox : await other.get(sandbox.name);
  const result = await target.commands.run(script ?? argv ?? [], {
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...(stdin !== undefined && { stdin }),
    ...(timeout_seconds !== undefined && { timeoutMs: timeout_seconds * 1000 }),
    ...(max_output_bytes !== undefined && { maxOutputBytes: max_output_bytes }),
    ...(stream === true && { onStdout: hear, onStderr: hear }),
  });
  return { ...resultOf(result), ...(stream === true && { streamed }) };
}

function resultOf({ exitCode, timedOut, ...rest }: CommandResult): object {
  return { exit_code: exitCode, timed_out: timedOut, ...rest };
}

function exitOf({ exitCode, signal }: Exit): object {
  return { exit_code: exitCode, ...(signal !== undefined && { signal }) };
}

async function outputOf(process: Process, onFirst: () => Promise<void> = async () => undefined): Promise<string> {
  let output = "";
  for await (const { text } of process.output()) {
    if (output === "") await onFirst();
    output += text;
  }
  return output;
}

interface StartArguments {
  readonly script: string;
  readonly write?: string;
  readonly terminal?: { cols: number; rows: number };
  readonly kill_after_output?: boolean;
  readonly keep_running_seconds?: number;
}

/** Runs numbered commands concurrently. Each appends its number to the file `ran`. */
async function runMany(
  sandbox: Sandbox,
  { count, concurrency }: { count: number; concurrency: number },
): Promise<unknown> {
  const succeeded: number[] = [];
  const failures: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      try {
        // The sleep makes it likely that a command is under way when the box dies.
        const script = `sleep 0.05; echo ${number} >> ran; echo ${number}`;
        const { stdout } = await sandbox.commands.run(script, { timeoutMs: 120_000 });
        if (stdout === `${number}\n`) succeeded.push(number);
      } catch (error) {
        failures.push(String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { succeeded, failures };
}

const calls: Readonly<Record<string, Call>> = {
  run,
  run_many: runMany,
  start: async (sandbox, wanted: StartArguments) => {
    const { script, write, terminal, kill_after_output, keep_running_seconds } = wanted;
    await using process = await sandbox.commands.start(script, {
      ...(terminal && { terminal }),
      ...(keep_running_seconds !== undefined && { keepRunningMs: keep_running_seconds * 1000 }),
    });
    if (write !== undefined) await process.write(write);
    const output = await outputOf(process, async () => (kill_after_output === true ? process.kill() : undefined));
    return { output, ...exitOf(await process.wait()) };
  },
  attach: async (sandbox, { script, id }: { script?: string; id?: number }) => {
    if (script === undefined) return void (await sandbox.commands.attach(id ?? 0));
    const first = await sandbox.commands.start(script);
    const process = await sandbox.commands.attach(first.id);
    await first.disconnect();
    return { output: await outputOf(process), ...exitOf(await process.wait()) };
  },
  write: async (
    { files },
    { path, text, mode, create_only }: { path: string; text: string; mode?: string; create_only?: boolean },
  ) => {
    await files.write(path, text, {
      ...(mode !== undefined && { mode }),
      ...(create_only === true && { createOnly: true }),
    });
    return {};
  },
  append: async ({ files }, { path, text }: { path: string; text: string }) => {
    await files.append(path, text);
    return {};
  },
  read: async ({ files }, { path, first, last }: { path: string; first?: number; last?: number }) => {
    const range = first === undefined ? {} : { range: { first, ...(last !== undefined && { last }) } };
    return { text: new TextDecoder().decode(await files.read(path, range)) };
  },
  list: async ({ files }, { path }: { path: string }) => ({
    entries: (await files.list(path)).map(({ name, type, size, mode }) => ({ name, type, size, mode })),
  }),
  stat: async ({ files }, { path }: { path: string }) => {
    const { name, type, size, mode, path: found } = await files.stat(path);
    return { path: found, name, type, size, mode };
  },
  exists: async ({ files }, { path }: { path: string }) => ({ exists: await files.exists(path) }),
  copy: async ({ files }, { from, to }: { from: string; to: string }) => {
    await files.copy(from, to);
    return {};
  },
  move: async ({ files }, { from, to }: { from: string; to: string }) => {
    await files.move(from, to);
    return {};
  },
  chmod: async ({ files }, { path, mode }: { path: string; mode: string }) => {
    await files.chmod(path, mode);
    return {};
  },
  make_dir: async ({ files }, { path }: { path: string }) => {
    await files.makeDir(path);
    return {};
  },
  remove: async ({ files }, { path, recursive = false }: { path: string; recursive?: boolean }) => {
    await files.remove(path, { recursive });
    return {};
  },
  run_code: async (sandbox, { code }: { code: string }) => {
    const { stdout, text, error } = await sandbox.runCode(code);
    return {
      stdout,
      ...(text !== undefined && { text }),
      ...(error && { error_name: error.name, error_message: error.message }),
    };
  },
  wait_for_port: async ({ ports }, { port, timeout_seconds = 30 }: { port: number; timeout_seconds?: number }) => {
    await ports.wait(port, { timeoutMs: timeout_seconds * 1000 });
    return {};
  },
  status: async (sandbox) => ({ phase: (await sandbox.status()).phase }),
  list_sandboxes: async (_sandbox, { labels }: { labels: Record<string, string> }, { client }) => ({
    count: (await client.list({ labels })).length,
  }),
  get: async (_sandbox, { name }: { name: string }, { client }) => void (await client.get(name)),
  create: async (
    _sandbox,
    wanted: { image?: string; pool?: string; name?: string; command?: string[] },
    { client },
  ) => {
    await using created = await client.create(wanted);
    return { name: created.name };
  },
};
