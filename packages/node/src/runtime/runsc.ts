import { readFileSync, writeFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { sandboxOomScore } from "../oci/oom-score.ts";
import type { OciProcess, OciSpec } from "../oci/spec.ts";
import { namesIn } from "../system/folders.ts";
import { tryCommand } from "../system/run-command.ts";
import type { ExecArguments, ExecCommand, OciRuntime, RuntimeBuild, RuntimeCommand } from "./oci-runtime.ts";
import { keepTmpOnRoot } from "./root-tmp.ts";
import { closePeer, runDetached } from "./run-detached.ts";
import type { RuntimeProgram } from "./runc.ts";
import { buildOf, controlSocketOf, sandboxCalls } from "./runsc-checkpoints.ts";
import { callRuntime, deleteContainer, isGone } from "./runtime-call.ts";
import { dialSandbox } from "./sandbox-dial.ts";
import { execInSandbox } from "./sandbox-exec.ts";
import { descendantsOf, parseProcesses } from "./sandbox-processes.ts";

/**
 * Writes go to the Pod's own layer, which must survive, and not to an overlay inside the sandbox. The root filesystem belongs
 * to one sandbox and may be cached. Volumes may be changed by others and are not cached.
 */
const options: readonly string[] = ["--overlay2=none", "--file-access=exclusive", "--file-access-mounts=shared"];

/** Without this option, the connections of a sandbox that continued to run after its checkpoint end when it is restored. */
export const keepConnections = "--allow-connected-on-save";

/**
 * Older versions of runsc refuse the network namespace if `/proc/sys/net/core/rmem_default` exists, because they take it for
 * the machine's. Newer kernels have the file in every network namespace, so hide it from runsc.
 */
const hideSysctls = "mount -t tmpfs -o ro,size=4k none /proc/sys/net || exit\n";

/** runsc sets the OOM score of its own processes, but those that run the sandbox's code inherit the shell's. */
const raiseScore = `${closePeer}
echo ${sandboxOomScore} >/proc/self/oom_score_adj`;

/** Sets `$id` to the last word, and keeps the first `$count` words: those before the verb. */
const keepWords = `for id; do :; done
index=0
for word; do
  shift
  [ "$index" -lt "$count" ] && set -- "$@" "$word"
  index=$((index + 1))
done`;

/**
 * A container that joins a sandbox has no process on the machine. A `runsc wait` represents it and ends with its exit code, or with
 * that of SIGKILL if the whole sandbox was killed. It writes nothing: its output would become part of the container's log.
 */
const representMember = `{ said=$("$@" wait "$id" 2>/dev/null); code=\${said##*:}; code=\${code%\\}}; exit "\${code:-137}"; } &
printf %s "$!" >pid
`;

/** Creates and starts a container in an existing sandbox. `$1` is the number of words before the verb. */
const createMember = `${raiseScore}
count=$1; shift
"$@" || exit
${keepWords}
"$@" start "$id" || exit
${representMember}`;

/**
 * Replaces the monitor's verb "create" by `restore`. `$image` is the folder of the saved state. Pages that are not needed at once
 * are loaded in the background, from files that are open and may be removed.
 */
const restoring = `for word; do
  shift
  if [ "$word" = create ]; then set -- "$@" restore --detach --background --image-path "$image"; else set -- "$@" "$word"; fi
done`;

const restoreFirst = `image=$1; shift
${restoring}
exec "$@"
`;

/** `wait` also waits until the last container of the sandbox is restored. */
const restoreMember = `${raiseScore}
image=$1; shift
count=$1; shift
${restoring}
"$@" || exit
${keepWords}
${representMember}`;

export interface RunscProgram extends RuntimeProgram {
  /** The path of `unshare`, if sysctls must be hidden from runsc. */
  readonly unshare?: string | undefined;
  /** Whether this version has `keepConnections`. Older ones do not save sandboxes. */
  readonly canSave: boolean;
}

/**
 * gVisor: containers with a kernel in user space and its own network stack, which takes the address of the Pod's interface.
 * Creating a container also starts it.
 */
export function runscRuntime({ name, program, args, root, unshare, canSave }: RunscProgram): OciRuntime {
  const globalArgs = [`--root=${root}`, ...options, ...(canSave ? [keepConnections] : []), ...args];
  let build: Promise<RuntimeBuild> | undefined;
  const calls = sandboxCalls(root);
  const command = { program, args: globalArgs };
  const words = [program, ...globalArgs];
  const scripted = (script: string, ...first: readonly string[]): RuntimeCommand => {
    const prepare = unshare === undefined ? raiseScore : `${raiseScore}\n${hideSysctls}`;
    const args = ["-c", `${prepare}\n${script}`, "sh", ...first, ...words];
    if (unshare === undefined) return { program: "/bin/sh", args };
    return { program: unshare, args: ["--mount", "--propagation=slave", "sh", ...args] };
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
    remove: (id) => deleteContainer(command, id).then(() => calls.forget(id)),
    discard: (id) => removeState(root, id).then(() => calls.forget(id)),
    list: async () => [...new Set((await namesIn(root)).flatMap(idOfState))],
    execCommand: async (request) => execCommand(command, request),
    // The protocol belongs to the build of gVisor, as for saves. With an option that changes capabilities, runsc decides.
    ...(canSave &&
      !args.some((option) => option.includes("net-raw")) && {
        exec: (request) =>
          execInSandbox({ ...request, root, process: processOf(request), pidFile: join(request.folder, innerPid) }),
      }),
    endExec: (id, folder) => endProgram(command, id, folder),
    dial: (id, port) => dialSandbox(command, { id, port, folder: root }),
    ...(canSave && {
      checkpoints: {
        ...calls,
        restoreCommand: (role, folder) =>
          role === "member"
            ? { program: "/bin/sh", args: ["-c", restoreMember, "sh", folder, String(words.length), ...words] }
            : scripted(restoreFirst, folder),
        build: () => (build ??= buildOf(program)),
      },
    }),
  };
}

/**
 * Replaces recursive read-only (`rro`) by `ro`, which runsc applies recursively. Leaves out empty lists: runsc writes specifications
 * into checkpoints without them, and would find a difference when it restores.
 */
function adaptSpec(given: OciSpec): OciSpec {
  const spec = keepTmpOnRoot(given);
  const mounts = spec.mounts.map((mount) => ({
    ...mount,
    options: mount.options.map((option) => (option === "rro" ? "ro" : option)),
  }));
  return withoutEmptyLists({ ...spec, mounts });
}

function withoutEmptyLists<T extends object>(value: T): T {
  const entries = Object.entries(value).filter(([, one]) => !Array.isArray(one) || one.length > 0);
  const isNested = (one: unknown): one is object => typeof one === "object" && one !== null && !Array.isArray(one);
  return Object.fromEntries(entries.map(([key, one]) => [key, isNested(one) ? withoutEmptyLists(one) : one])) as T;
}

/** Does what `runsc delete` does for a container that has ended, except for its cgroup, which is removed with that of the Pod. */
async function removeState(root: string, id: string): Promise<void> {
  const own = (await namesIn(root)).filter((name) => name.startsWith(`${id}_sandbox:`));
  await Promise.all([...own, controlSocketOf(id)].map((name) => rm(join(root, name), { force: true })));
}

/** runsc keeps a state file per container, named after the container and its sandbox. A crash may leave only the mark of a pause. */
function idOfState(name: string): string[] {
  const id = /^(.+)(?:_sandbox:.+\.state|\.paused)$/.exec(name)?.[1];
  return id === undefined ? [] : [id];
}

const innerPid = "inner-pid";

/** Passes a process description: without one, runsc would run the command as root. */
function execCommand({ program, args }: RuntimeCommand, request: ExecArguments): ExecCommand {
  const { id, folder } = request;
  const [processFile, pidFile] = [join(folder, "process.json"), join(folder, "pid")];
  writeFileSync(processFile, JSON.stringify(processOf(request)), { mode: 0o600 });
  const files = ["--process", processFile, "--pid-file", pidFile, "--internal-pid-file", join(folder, innerPid)];
  return { program, args: [...args, "exec", ...files, id], pidFile };
}

/** Ends a program that was started by `exec` or `execCommand`, and its descendants. */
async function endProgram({ program, args }: RuntimeCommand, id: string, folder: string): Promise<void> {
  const pid = await readFile(join(folder, innerPid), "utf8").catch(() => "");
  if (!/^\d+$/.test(pid)) return;
  const signal = (one: string, name: string): Promise<void> =>
    callRuntime({ program, args }, ["kill", "--pid", one, id, name], isGone);
  // A stopped process cannot start another one after the listing.
  await signal(pid, "SIGSTOP");
  const { stdout } = await tryCommand(program, [...args, "ps", id]);
  for (const one of [pid, ...descendantsOf(Number(pid), parseProcesses(stdout)).map(String)]) {
    await signal(one, "SIGKILL");
  }
}

function processOf({ bundle, command, tty }: ExecArguments): OciProcess {
  const { process } = JSON.parse(readFileSync(join(bundle, "config.json"), "utf8")) as OciSpec;
  const env = tty ? [...process.env, "TERM=xterm"] : process.env;
  return { ...process, args: command, terminal: tty, env };
}
