import type { Socket } from "node:net";
import type { OciSpec } from "../oci/spec.ts";

/** A runtime on this machine, as an operator registers it. */
export interface RuntimeRegistration {
  /** What `runtimeClassName` calls it. */
  readonly name: string;
  /** A path, or a name to find on the PATH. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Whose command line it has. Default: runsc's for a program of that name, else runc's. */
  readonly kind?: RuntimeKind;
  /** Use it although its version has known vulnerabilities. Default false. */
  readonly allowVulnerable?: boolean;
}

/** `runc`: crun, youki and Kata's too. `runsc`: gVisor. */
export type RuntimeKind = "runc" | "runsc";

/**
 * What a container is to the others of its Pod, where the runtime has one sandbox for all of them: the only one, the
 * one that holds the sandbox (it does nothing and lives as long as the Pod), or one that joins it.
 */
export type ContainerRole = "alone" | "sandbox" | "member";

export interface ExecArguments {
  readonly id: string;
  /** What the container was made from. */
  readonly bundle: string;
  /** An empty folder for this command alone, which the caller removes after it. */
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
  /** Written once the command has started. */
  readonly pidFile: string;
}

/**
 * An OCI runtime driven by its command line. Creating is the monitor's part, which calls the same program; the rest
 * is here. What is already so is no error: starting what runs, killing or removing what is gone.
 */
export interface OciRuntime {
  readonly name: string;
  readonly kind: RuntimeKind;
  readonly program: string;
  /** What goes before the verb: the folder of its state, and the options it was registered with. */
  readonly globalArgs: readonly string[];
  /**
   * Whether the containers of a Pod share a sandbox with a kernel and a network of its own. Such a Pod with several
   * containers begins with one of the role "sandbox"; the machine sees no processes of them, only the sandbox's.
   */
  readonly sharesSandbox: boolean;
  /** Whether a container that was created runs already; else it has to be started. */
  readonly startsAtOnce: boolean;
  /** A container's specification as this runtime understands it. */
  adaptSpec(spec: OciSpec): OciSpec;
  /**
   * How the monitor calls the runtime to create a container; it adds the verb and what belongs to it. `owner` is the
   * machine's id of the container's user, in a Pod with users of its own.
   */
  createCommand(role: ContainerRole, owner?: number): RuntimeCommand;
  /** What creates and starts a container in one, up to the verb `run`. */
  readonly runCommand: RuntimeCommand;
  /** Starts a container that was created and does not run yet. */
  start(id: string): Promise<void>;
  /** Signals the container's first process. */
  kill(id: string, signal: string): Promise<void>;
  /** Ends what still runs in it and forgets it. */
  remove(id: string): Promise<void>;
  list(): Promise<readonly string[]>;
  /** The command line that runs a program inside, attached to the caller's own input and outputs. */
  execCommand(request: ExecArguments): Promise<ExecCommand>;
  /** Ends such a program where its control group does not reach it. */
  endExec(id: string, folder: string): Promise<void>;
  /** Connects to a port where the network is the sandbox's own, and not the Pod's network namespace. */
  dial?(id: string, port: number): Promise<Socket>;
}

/** What the OCI specification of a container must say for the role it has. */
export function roleAnnotations(role: ContainerRole, sandboxId: string): Record<string, string> {
  if (role === "alone") return {};
  return {
    "io.kubernetes.cri.container-type": role === "sandbox" ? "sandbox" : "container",
    "io.kubernetes.cri.sandbox-id": sandboxId,
  };
}
