import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sandboxOomScore } from "../oci/oom-score.ts";
import type { OciProcess, OciSpec } from "../oci/spec.ts";
import { namesIn } from "../system/folders.ts";
import { tryCommand } from "../system/run-command.ts";
import type { ExecArguments, ExecCommand, OciRuntime, RuntimeCommand } from "./oci-runtime.ts";
import { runDetached } from "./run-detached.ts";
import type { RuntimeProgram } from "./runc.ts";
import { callRuntime, deleteContainer, isGone } from "./runtime-call.ts";
import { dialSandbox } from "./sandbox-dial.ts";
import { descendantsOf, parseProcesses } from "./sandbox-processes.ts";

/**
 * The Pod's own layer is what must survive, so writes go there and not to a file of the sandbox's. The root belongs to
 * one sandbox alone and may be cached; volumes may change under it and are not.
 */
const options: readonly string[] = ["--overlay2=none", "--file-access=exclusive", "--file-access-mounts=shared"];

/**
 * When it gives a sandbox its network, an older runsc looks for `/proc/sys/net/core/rmem_default` to tell whether that is
 * the machine's own, which it refuses. Newer kernels show the file in every network namespace, so runsc is not to see it.
 */
const hideSysctls = "mount -t tmpfs -o ro,size=4k none /proc/sys/net || exit\n";

/** runsc sets the score of its own processes, but the processes in which it runs the sandbox's code inherit the shell's. */
const raiseScore = `echo ${sandboxOomScore} >/proc/self/oom_score_adj`;

/**
 * Creates and starts a container in a sandbox that is there. The machine has no process for it: one that waits for its
 * end stands for it, and ends with its code. `$1` is the number of words before the verb.
 */
const createMember = `${raiseScore}
count=$1; shift
"$@" || exit
for id; do :; done
index=0
for word; do
  shift
  [ "$index" -lt "$count" ] && set -- "$@" "$word"
  index=$((index + 1))
done
"$@" start "$id" || exit
{ said=$("$@" wait "$id"); code=\${said##*:}; exit "\${code%\\}}"; } &
printf %s "$!" >pid
`;

export interface RunscProgram extends RuntimeProgram {
  /** The path of `unshare`, where sysctls have to be hidden from it. */
  readonly unshare?: string | undefined;
}

/**
 * gVisor: containers whose kernel is a program, with a network of its own that takes over the Pod's interface. Creating
 * one starts it.
 */
export function runscRuntime({ name, program, args, root, unshare }: RunscProgram): OciRuntime {
  const globalArgs = [`--root=${root}`, ...options, ...args];
  const command = { program, args: globalArgs };
  const words = [program, ...globalArgs];
  const scripted = (script: string): RuntimeCommand =>
    unshare === undefined
      ? { program: "/bin/sh", args: ["-c", `${raiseScore}\n${script}`, "sh", ...words] }
      : {
          program: unshare,
          args: [
            "--mount",
            "--propagation=slave",
            "sh",
            "-c",
            `${raiseScore}\n${hideSysctls}${script}`,
            "sh",
            ...words,
          ],
        };
  return {
    name,
    kind: "runsc",
    program,
    globalArgs,
    sharesSandbox: true,
    startsAtOnce: true,
    adaptSpec,
    createCommand: (role) =>
      role === "member"
        ? { program: "/bin/sh", args: ["-c", createMember, "sh", String(words.length), ...words] }
        : scripted(runDetached),
    runCommand: scripted('exec "$@"'),
    start: async () => undefined,
    kill: (id, signal) => callRuntime(command, ["kill", id, signal], isGone),
    remove: (id) => deleteContainer(command, id),
    list: async () => (await namesIn(root)).flatMap(idOfState),
    execCommand: (request) => execCommand(command, request),
    endExec: async (id, folder) => {
      const pid = await readFile(join(folder, innerPid), "utf8").catch(() => "");
      if (!/^\d+$/.test(pid)) return;
      const { stdout } = await tryCommand(program, [...globalArgs, "ps", id]);
      for (const one of [pid, ...descendantsOf(Number(pid), parseProcesses(stdout)).map(String)]) {
        await callRuntime(command, ["kill", "--pid", one, id, "SIGKILL"], isGone);
      }
    },
    dial: (id, port) => dialSandbox(command, { id, port, folder: root }),
  };
}

/** It has no word for "read-only all the way down": that is what it means by read-only. */
function adaptSpec(spec: OciSpec): OciSpec {
  const mounts = spec.mounts.map((mount) => ({
    ...mount,
    options: mount.options.map((option) => (option === "rro" ? "ro" : option)),
  }));
  return { ...spec, mounts };
}

/** Its state is a file for each container, named after it and its sandbox. */
function idOfState(name: string): string[] {
  const id = /^(.+)_sandbox:.+\.state$/.exec(name)?.[1];
  return id === undefined ? [] : [id];
}

const innerPid = "inner-pid";

/** Without a description of the process, runsc would run it as root. */
async function execCommand(
  { program, args }: RuntimeCommand,
  { id, bundle, folder, command, tty }: ExecArguments,
): Promise<ExecCommand> {
  const spec = JSON.parse(await readFile(join(bundle, "config.json"), "utf8")) as OciSpec;
  const env = tty ? [...spec.process.env, "TERM=xterm"] : spec.process.env;
  const inner: OciProcess = { ...spec.process, args: command, terminal: tty, env };
  const [processFile, pidFile] = [join(folder, "process.json"), join(folder, "pid")];
  await writeFile(processFile, JSON.stringify(inner), { mode: 0o600 });
  const files = ["--process", processFile, "--pid-file", pidFile, "--internal-pid-file", join(folder, innerPid)];
  return { program, args: [...args, "exec", ...files, id], pidFile };
}
