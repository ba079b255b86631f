import type { Socket } from "node:net";
import type { OciSpec } from "../oci/spec.ts";

/** A runtime on this machine, as an operator registers it. */
export interface RuntimeRegistration {
  /** The name for `runtimeClassName`. */
  readonly name: string;
  /** A path, or a name to find on the PATH. */
  readonly program: string;
  /** Arguments in front of those of the node. */
  readonly args?: readonly string[];
  /** The command line that it is compatible with. Default: runsc for a program of that name, else runc. */
  readonly kind?: RuntimeKind;
  /** Use it although its version has known vulnerabilities. Default false. */
  readonly allowVulnerable?: boolean;
}

/** `runc` also stands for crun, youki and Kata. `runsc` is gVisor. */
export type RuntimeKind = "runc" | "runsc";

/**
 * The role of a container where the runtime has one sandbox for the whole Pod: the only container, the container that holds
 * the sandbox (it does nothing and runs as long as the Pod), or a container that joins the sandbox.
 */
export type ContainerRole = "alone" | "sandbox" | "member";

export interface ExecArguments {
  readonly id: string;
  /** The OCI bundle of the container. */
  readonly bundle: string;
  /** An empty folder for this command. The caller removes it. */
  readonly folder: string;
  readonly command: readonly string[];
  readonly tty: boolean;
  /** A cgroup below the container's own, in the runtime's notation. */
  readonly cgroup: string;
}

export interface RuntimeCommand {
  readonly program: string;
  readonly args: readonly string[];
}

export interface ExecCommand extends RuntimeCommand {
  /** Written when the command has started. */
  readonly pidFile: string;
}

/** A program that runs in a sandbox, with our ends of its streams. */
export interface SandboxProcess {
  readonly stdin: Socket | undefined;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** The exit code, or 128 and the number of the signal. Rejects with `SandboxGone` if the sandbox has ended. */
  readonly wait: (signal: AbortSignal) => Promise<number>;
}

/**
 * An OCI runtime, used through its command line. Containers are created by the monitor, which calls the same program. All
 * methods are idempotent: starting a running container, or killing or removing a missing one, is not an error.
 */
export interface OciRuntime {
  readonly name: string;
  readonly kind: RuntimeKind;
  readonly program: string;
  /** The arguments before the verb: the state folder and the registered options. */
  readonly globalArgs: readonly string[];
  /**
   * Whether the containers of a Pod share a sandbox with its own kernel and network stack. A Pod with several containers then
   * begins with a container of the role "sandbox", and their processes are not visible on the machine.
   */
  readonly sharesSandbox: boolean;
  /** Whether creating a container also starts it. */
  readonly startsAtOnce: boolean;
  /** Adapts a container's specification to what this runtime supports. */
  adaptSpec(spec: OciSpec): OciSpec;
  /**
   * The command with which the monitor creates a container; the monitor adds the verb and its arguments. `owner` is the
   * machine's id of the container's user, in a Pod with a user namespace.
   */
  createCommand(role: ContainerRole, owner?: number): RuntimeCommand;
  /** The command before the verb `run`, which creates and starts a container. */
  readonly runCommand: RuntimeCommand;
  /** Starts a created container. */
  start(id: string): Promise<void>;
  /** Signals the container's first process. */
  kill(id: string, signal: string): Promise<void>;
  /** Kills the processes of a container and deletes it. */
  remove(id: string): Promise<void>;
  /** Like `remove`, and faster, for a container whose processes have all ended. */
  discard?(id: string): Promise<void>;
  list(): Promise<readonly string[]>;
  /** The command that runs a program in a container with the caller's stdin, stdout and stderr. */
  execCommand(request: ExecArguments): Promise<ExecCommand>;
  /**
   * Runs a program in a container without a terminal and without a process on the machine. Returns undefined if this one needs
   * `execCommand`. Throws `SandboxRefused` if the program cannot be started.
   */
  exec?(request: ExecArguments & { readonly stdin: boolean }): Promise<SandboxProcess> | undefined;
  /** Ends a program started with `execCommand` or `exec`, for runtimes where killing its cgroup does not end it. */
  endExec(id: string, folder: string): Promise<void>;
  /** Connects to a port inside the sandbox, for runtimes with their own network stack. */
  dial?(id: string, port: number): Promise<Socket>;
  /** Saves and restores the memory of sandboxes, for runtimes that can. */
  readonly checkpoints?: Checkpoints;
}

/**
 * Saves and restores whole sandboxes. Ids are those of a sandbox's first container: its only one, or the one with the role
 * "sandbox". Pausing and resuming are idempotent.
 */
export interface Checkpoints {
  /** Stops all processes of a sandbox and its network stack until `resume`. Throws if the sandbox does not run. */
  pause(id: string): Promise<void>;
  isPaused(id: string): Promise<boolean>;
  /** Does nothing for a sandbox that does not exist any more. */
  resume(id: string): Promise<void>;
  /** Writes the state of a paused sandbox to an existing empty folder. The sandbox stays paused. */
  save(id: string, folder: string): Promise<void>;
  /** Sends a signal to all processes of one container at the same time. Does nothing for a container that has ended. */
  signalAll(id: string, signal: "STOP" | "CONT"): Promise<void>;
  /**
   * The counterpart of `createCommand` with which the monitor restores a container from a folder that `save` wrote. The sandbox
   * runs when the last of its containers is restored.
   */
  restoreCommand(role: ContainerRole, folder: string): RuntimeCommand;
  /** The version of the runtime and a hash of its program. A sandbox is restored only by the build that saved it. */
  build(): Promise<RuntimeBuild>;
}

export interface RuntimeBuild {
  readonly version: string;
  readonly sha256: string;
}

/** The annotations of the OCI specification for a role. */
export function roleAnnotations(role: ContainerRole, sandboxId: string, name: string): Record<string, string> {
  // gVisor finds the containers of a saved sandbox by this name. Without it their number and order would have to be the same.
  const named = { "io.kubernetes.cri.container-name": name };
  if (role === "alone") return named;
  return {
    ...named,
    "io.kubernetes.cri.container-type": role === "sandbox" ? "sandbox" : "container",
    "io.kubernetes.cri.sandbox-id": sandboxId,
  };
}
