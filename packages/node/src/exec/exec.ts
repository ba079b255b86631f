import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ExecRequest, type ExecSession, KubeError, type PodStreams } from "@agent-sandbox/kube";
import { messageOf } from "../errors.ts";
import { containerId, podPaths } from "../layout.ts";
import { type Machine, runtimeNamed } from "../pod/machine.ts";
import type { ContainerRecord } from "../pod/record.ts";
import { killCgroup, makeCgroup, removeCgroup } from "../system/cgroups.ts";
import { removeFile } from "../system/json-file.ts";
import { attachPipes, attachTerminal } from "./exec-process.ts";
import { startFailure } from "./start-failure.ts";

/** Commands at the same time on the whole node; each costs a process of the runtime. */
const mostSessions = 500;

export interface ExecOptions {
  readonly machine: Machine;
  /** The UID of the Pod of that name which this node runs. */
  readonly uidOf: (namespace: string, pod: string) => string | undefined;
}

interface Target {
  readonly uid: string;
  readonly container: string;
  readonly kept: ContainerRecord;
}

/**
 * Runs commands in running containers, each in a control group of its own below the container's: that is how the whole
 * of it can be ended, daemons it left behind included. Which sessions are open is on disk, so that a node started after
 * a crash ends those whose client is gone with the old process.
 */
export class Exec implements PodStreams, AsyncDisposable {
  readonly #options: ExecOptions;
  readonly #open = new Set<ExecSession>();

  constructor(options: ExecOptions) {
    this.#options = options;
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    const name = `${request.namespace}/${request.pod}`;
    if (this.#open.size >= mostSessions) {
      throw new KubeError("TooManyRequests", `Cannot exec into Pod "${name}": ${mostSessions} sessions are open`);
    }
    const target = await this.#target(request, name);
    try {
      const { session, failure } = await this.#start(request, target);
      if (failure === undefined) return session;
      throw new KubeError("BadRequest", `Cannot run "${request.command[0]}" in Pod "${name}": ${failure}`);
    } catch (error) {
      if (error instanceof KubeError) throw error;
      throw new KubeError("InternalError", `Cannot exec into Pod "${name}": ${messageOf(error)}`, { cause: error });
    }
  }

  async #start(
    request: ExecRequest,
    { uid, container, kept }: Target,
  ): Promise<{ session: ExecSession; failure: string | undefined }> {
    const { machine } = this.#options;
    const id = `exec-${randomBytes(8).toString("hex")}`;
    const paths = podPaths(machine.layout, uid);
    const [file, cgroup] = [join(paths.execs, id), `${paths.cgroup}/${container}/${id}`];
    await mkdir(paths.execs, { recursive: true, mode: 0o700 });
    await writeFile(file, JSON.stringify({ cgroup }));
    await makeCgroup(machine.cgroups, cgroup);
    const command = runtimeNamed(machine, kept.runtime).execCommand({
      id: containerId(uid, container, kept.attempt),
      command: request.command,
      tty: request.tty,
      cgroup: machine.cgroups.execArgument(id),
      pidFile: `${file}.pid`,
    });
    const attached = (request.tty ? attachTerminal : attachPipes)({ ...command, stdin: request.stdin });
    const session = this.#track(attached, cgroup, file);
    return { session, failure: await startFailure(attached, `${file}.pid`) };
  }

  /** Hangs up on everybody. */
  async [Symbol.asyncDispose](): Promise<void> {
    const open = [...this.#open];
    for (const session of open) session.kill();
    await Promise.allSettled(open.map((session) => session.exit));
  }

  #track(attached: ExecSession, cgroup: string, file: string): ExecSession {
    const { cgroups } = this.#options.machine;
    let killing: Promise<void> | undefined;
    const finish = async (): Promise<{ code: number; signal?: string }> => {
      try {
        return await attached.exit;
      } finally {
        await killing;
        // What the command left running in the background keeps its control group; it goes with the container.
        await removeCgroup(cgroups, cgroup, 0).catch(() => undefined);
        await Promise.all([removeFile(file), removeFile(`${file}.pid`)]);
        this.#open.delete(session);
      }
    };
    const session: ExecSession = {
      stdin: attached.stdin,
      stdout: attached.stdout,
      stderr: attached.stderr,
      resize: (columns, rows) => attached.resize(columns, rows),
      kill: () => {
        attached.kill();
        killing ??= killCgroup(cgroups, cgroup).catch(() => undefined);
      },
      exit: finish(),
    };
    // Whoever hung up no longer waits for it.
    session.exit.catch(() => undefined);
    this.#open.add(session);
    return session;
  }

  async #target(request: ExecRequest, name: string): Promise<Target> {
    const { machine, uidOf } = this.#options;
    const uid = uidOf(request.namespace, request.pod);
    const record = uid === undefined ? undefined : await machine.records.read(uid);
    if (uid === undefined || record === undefined) {
      throw new KubeError("NotFound", `Cannot exec into Pod "${name}": it does not run on this node`);
    }
    const container = request.container ?? Object.keys(record.containers)[0] ?? "";
    const kept = Object.hasOwn(record.containers, container) ? record.containers[container] : undefined;
    if (!kept?.run?.started || kept.ended !== undefined) {
      throw new KubeError("BadRequest", `Cannot exec into Pod "${name}": container "${container}" is not running`);
    }
    if (!request.command[0]) throw new KubeError("BadRequest", `Cannot exec into Pod "${name}": no command was given`);
    return { uid, container, kept };
  }
}
