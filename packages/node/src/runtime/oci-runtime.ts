import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import { findProgram } from "../system/find-program.ts";
import { namesIn } from "../system/folders.ts";
import { tryCommand } from "../system/run-command.ts";
import { runtimeMessage } from "./runtime-message.ts";

/** A runtime on this machine, as an operator registers it. */
export interface RuntimeRegistration {
  /** What `runtimeClassName` calls it. */
  readonly name: string;
  /** A path, or a name to find on the PATH. */
  readonly program: string;
  readonly args?: readonly string[];
}

export interface ExecArguments {
  readonly id: string;
  readonly command: readonly string[];
  readonly tty: boolean;
  /** A cgroup below the container's own, in the runtime's notation. */
  readonly cgroup: string;
  /** Written once the command has started. */
  readonly pidFile: string;
}

/**
 * An OCI runtime driven by its command line. Creating is the monitor's part, which calls the same program; the rest
 * is here. What is already so is no error: starting what runs, killing or removing what is gone.
 */
export interface OciRuntime {
  readonly name: string;
  readonly program: string;
  /** What goes before the verb: the folder of its state, and the options it was registered with. */
  readonly globalArgs: readonly string[];
  start(id: string): Promise<void>;
  /** Signals the container's first process. */
  kill(id: string, signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Ends what still runs in it and forgets it. */
  remove(id: string): Promise<void>;
  list(): Promise<readonly string[]>;
  /** The command line that runs a program inside, attached to the caller's own input and outputs. */
  execCommand(request: ExecArguments): { readonly program: string; readonly args: readonly string[] };
}

const gone = /does not exist|not running|already finished|no such process/i;

/** Runtimes with runc's command line: runc, crun, youki, runsc, Kata's. */
export async function openRuntime(registration: RuntimeRegistration, runDir: string): Promise<OciRuntime> {
  const { name } = registration;
  const program = await findProgram(registration.program);
  const root = join(runDir, name);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const globalArgs = [`--root=${root}`, ...(registration.args ?? [])];

  const call = async (verb: string, args: readonly string[], unless: RegExp): Promise<void> => {
    const result = await tryCommand(program, [...globalArgs, verb, ...args]);
    if (result.code === 0 || unless.test(result.stderr)) return;
    throw new NodeError(
      "RunContainerError",
      `Cannot ${verb} container "${args.join(" ")}": ${runtimeMessage(result.stderr)}`,
    );
  };

  return {
    name,
    program,
    globalArgs,
    start: (id) => call("start", [id], /already running/),
    kill: (id, signal) => call("kill", [id, signal], gone),
    remove: (id) => call("delete", ["--force", id], gone),
    list: () => namesIn(root),
    execCommand: ({ id, command, tty, cgroup, pidFile }) => ({
      program,
      args: [
        ...globalArgs,
        "exec",
        ...(tty ? ["--tty", "--env", "TERM=xterm"] : []),
        "--cgroup",
        cgroup,
        "--pid-file",
        pidFile,
        id,
        ...command,
      ],
    }),
  };
}
