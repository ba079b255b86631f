import { join } from "node:path";
import { namesIn } from "../system/folders.ts";
import { programName } from "./built-program.ts";
import type { OciRuntime } from "./oci-runtime.ts";
import { startingAtOnce } from "./run-detached.ts";
import { alreadyRuns, callRuntime, deleteContainer, isGone } from "./runtime-call.ts";

export interface RuntimeProgram {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The state folder. */
  readonly root: string;
}

/** Runtimes with `run --detach`, which is not part of the OCI command line. */
const detaching: readonly string[] = ["runc", "crun"];

/** Runtimes with runc's command line: runc, crun, youki and Kata. */
export function runcRuntime({ name, program, args, root }: RuntimeProgram): OciRuntime {
  const globalArgs = [`--root=${root}`, ...args];
  const command = { program, args: globalArgs };
  // A container is paused while a snapshot of it is taken. The command starts when it continues.
  const waiting = programName(program) === "runc" ? ["--ignore-paused"] : [];
  const startsAtOnce = detaching.includes(programName(program));
  return {
    name,
    kind: "runc",
    program,
    globalArgs,
    sharesSandbox: false,
    startsAtOnce,
    adaptSpec: (spec) => spec,
    createCommand: (_, owner) => (startsAtOnce ? startingAtOnce(command, owner) : command),
    runCommand: command,
    start: (id) => callRuntime(command, ["start", id], alreadyRuns),
    kill: (id, signal) => callRuntime(command, ["kill", id, signal], isGone),
    remove: (id) => deleteContainer(command, id),
    list: () => namesIn(root),
    execCommand: async ({ id, command: words, tty, cgroup, folder }) => {
      const pidFile = join(folder, "pid");
      const terminal = tty ? ["--tty", "--env", "TERM=xterm"] : [];
      return {
        program,
        args: [...globalArgs, "exec", ...waiting, ...terminal, "--cgroup", cgroup, "--pid-file", pidFile, id, ...words],
        pidFile,
      };
    },
    // Killing the cgroup ends all processes of the command.
    endExec: async () => undefined,
  };
}
