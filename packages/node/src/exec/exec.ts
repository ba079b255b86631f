import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ExecRequest, type ExecSession, FairShare, KubeError, type PodStreams } from "@agent-sandbox/kube";
import { messageOf } from "../errors.ts";
import { containerId, containerPaths, podPaths } from "../layout.ts";
import { runtimeNamed } from "../pod/machine.ts";
import { isBeingSaved } from "../pod/plan-save.ts";
import type { ContainerRecord } from "../pod/record.ts";
import type { ExecArguments, OciRuntime, SandboxProcess } from "../runtime/oci-runtime.ts";
import { SandboxRefused } from "../runtime/sandbox-control.ts";
import { findPod, type StreamOptions } from "../streams/find-container.ts";
import { hasRunOutOfMemory, makeCgroup, removeCgroup } from "../system/cgroups.ts";
import { enterCgroupLater } from "../system/enter-cgroup.ts";
import { type AttachedProcess, attachPipes, attachTerminal, followSandbox } from "./exec-process.ts";
import { endSession, type OpenSession, sessionFile } from "./open-session.ts";
import { explainOutOfMemory } from "./out-of-memory.ts";
import { startFailure } from "./start-failure.ts";

/** The limit of exec sessions on the node, shared between namespaces. Each session costs a process of the runtime. */
const mostSessions = 1000;

interface OwnSession extends ExecSession {
  readonly uid: string;
  /** Ends the session. Its client gets an error with the reason. */
  end(reason: string): void;
}

/** The command could not be started. The message says why. */
class StartFailure extends Error {}

interface Target {
  readonly uid: string;
  readonly container: string;
  readonly kept: ContainerRecord;
}

/**
 * Runs commands in running containers. Each command has a cgroup below the container's, so that it can be killed with all
 * processes it started. Open sessions are recorded on the disk: after a crash the next start ends them, because their
 * clients are gone.
 */
export class Exec implements PodStreams, AsyncDisposable {
  readonly #options: StreamOptions;
  readonly #open = new Set<OwnSession>();
  readonly #share = new FairShare(mostSessions);

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    const name = `${request.namespace}/${request.pod}`;
    const target = await this.#target(request, name);
    const place = this.#share.hold(request.namespace);
    if (place === undefined) {
      const limit = this.#share.mostOf(request.namespace);
      const why = `namespace "${request.namespace}" has reached its limit of ${limit} open sessions`;
      throw new KubeError("TooManyRequests", `Cannot exec into Pod "${name}": ${why}`);
    }
    try {
      const session = await this.#start(request, target).catch((error: unknown) => {
        place[Symbol.dispose]();
        throw error;
      });
      void session.exit.catch(() => undefined).then(() => place[Symbol.dispose]());
      return session;
    } catch (error) {
      if (error instanceof StartFailure)
        throw new KubeError("BadRequest", `Cannot run "${request.command[0]}" in Pod "${name}": ${error.message}`);
      throw new KubeError("InternalError", `Cannot exec into Pod "${name}": ${messageOf(error)}`, { cause: error });
    }
  }

  async #start(request: ExecRequest, { uid, container, kept }: Target): Promise<ExecSession> {
    const { machine } = this.#options;
    const name = `exec-${randomBytes(8).toString("hex")}`;
    const paths = podPaths(machine.layout, uid);
    const runtime = runtimeNamed(machine, kept.runtime);
    const own: OpenSession = {
      runtime: kept.runtime,
      container: containerId(uid, container, kept.attempt),
      cgroup: `${paths.cgroup}/${container}/${name}`,
    };
    const folder = join(paths.execs, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, sessionFile), JSON.stringify(own));
    const { tty, stdin, command } = request;
    const bundle = containerPaths(machine.layout, uid, container).bundle;
    const wanted = { id: own.container, bundle, folder, command, tty, cgroup: machine.cgroups.execArgument(name) };
    const hasRunOut = (): Promise<boolean> => hasRunOutOfMemory(machine.cgroups, `${paths.cgroup}/${container}`);
    const explained = (started: AttachedProcess): AttachedProcess =>
      runtime.kind === "runsc" ? explainOutOfMemory(started, { tty, hasRunOutOfMemory: hasRunOut }) : started;
    const inside = tty ? undefined : await this.#runInside(runtime, { ...wanted, stdin });
    if (inside !== undefined) return this.#track(explained(followSandbox(inside)), own, { folder, uid });
    await makeCgroup(machine.cgroups, own.cgroup);
    const outside = await runtime.execCommand(wanted);
    const attached = explained((tty ? attachTerminal : attachPipes)({ ...outside, stdin }));
    const session = this.#track(attached, own, { folder, uid });
    if (attached.pid !== undefined) enterCgroupLater(machine.cgroups, machine.layout.helperCgroup, attached.pid);
    const failure = await startFailure(attached, outside.pidFile);
    if (failure !== undefined) throw new StartFailure(failure);
    return session;
  }

  async #runInside(
    runtime: OciRuntime,
    request: ExecArguments & { readonly stdin: boolean },
  ): Promise<SandboxProcess | undefined> {
    try {
      return await runtime.exec?.(request);
    } catch (error) {
      rmSync(request.folder, { recursive: true, force: true });
      throw error instanceof SandboxRefused ? new StartFailure(error.why) : error;
    }
  }

  /** Ends the sessions of a Pod. */
  endSessions(uid: string, reason: string): void {
    for (const session of this.#open) if (session.uid === uid) session.end(reason);
  }

  /** Closes all sessions. */
  async [Symbol.asyncDispose](): Promise<void> {
    const open = [...this.#open];
    for (const session of open) session.kill();
    await Promise.allSettled(open.map((session) => session.exit));
  }

  #track(
    attached: ExecSession,
    own: OpenSession,
    { folder, uid }: { readonly folder: string; readonly uid: string },
  ): ExecSession {
    const { machine } = this.#options;
    let killing: Promise<void> | undefined;
    let ended: string | undefined;
    const finish = async (): Promise<{ code: number; signal?: string }> => {
      try {
        const result = await attached.exit;
        if (ended !== undefined) throw new KubeError("Gone", `The session has ended: ${ended}`);
        return result;
      } finally {
        await killing;
        // Background processes of the command keep its cgroup, which is then removed with the container.
        await removeCgroup(machine.cgroups, own.cgroup, 0).catch(() => undefined);
        rmSync(folder, { recursive: true, force: true });
        this.#open.delete(session);
      }
    };
    const session: OwnSession = {
      uid,
      stdin: attached.stdin,
      stdout: attached.stdout,
      stderr: attached.stderr,
      resize: (columns, rows) => attached.resize(columns, rows),
      kill: () => {
        attached.kill();
        killing ??= endSession(machine, own, folder).catch(() => undefined);
      },
      end: (reason) => {
        ended ??= reason;
        session.kill();
      },
      exit: finish(),
    };
    // A client that has disconnected does not await `exit`.
    session.exit.catch(() => undefined);
    this.#open.add(session);
    return session;
  }

  async #target(request: ExecRequest, name: string): Promise<Target> {
    const record = await findPod(this.#options, request, "exec into");
    const container = request.container ?? record.defaultContainer ?? "";
    if (isBeingSaved(record))
      throw new KubeError("BadRequest", `Cannot exec into Pod "${name}": it is being suspended`);
    const kept = Object.hasOwn(record.containers, container) ? record.containers[container] : undefined;
    if (!kept?.run?.started || kept.ended !== undefined) {
      throw new KubeError("BadRequest", `Cannot exec into Pod "${name}": container "${container}" is not running`);
    }
    if (!request.command[0]) throw new KubeError("BadRequest", `Cannot exec into Pod "${name}": no command was given`);
    return { uid: record.uid, container, kept };
  }
}
