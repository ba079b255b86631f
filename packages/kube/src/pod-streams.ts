import type { Duplex, Readable, Writable } from "node:stream";
import type { KubeObject } from "./resource.ts";

/**
 * The interface between the API server and the node that runs a Pod. On the box both run in one process. Methods reject with
 * a `KubeError` before they have an effect. The API server rejects requests for methods that a node does not implement.
 */
export interface PodStreams {
  /** Starts a command in a running container. */
  exec(request: ExecRequest): Promise<ExecSession>;
  /**
   * Streams what a running container writes from now on, until it ends or restarts. The session's `kill` closes the stream
   * and does not affect the container.
   */
  attach?(request: AttachRequest): Promise<ExecSession>;
  /** The output of a container. Destroying the stream stops following. */
  logs?(request: LogRequest): Promise<Readable>;
  /** Connects to a port as a program inside the Pod would connect to its own machine. */
  portForward?(request: PortForwardRequest): Promise<Duplex>;
  /** Resource usage in Prometheus text format, by a path of the kubelet such as `/metrics/resource`. */
  metrics?(path: string): Promise<Readable>;
  /** The CPU and memory that Pods use now, for `metrics.k8s.io`. */
  usage?(): Promise<UsageFigures>;
  /** Archives of snapshots. */
  readonly snapshots?: SnapshotArchives;
}

/** The use of the node and its Pods in the time `windowMs` before `atMs`. */
export interface UsageFigures {
  readonly atMs: number;
  readonly windowMs: number;
  readonly node: Figures;
  /** By UID, the containers of the Pods that run and have been measured twice. */
  readonly pods: ReadonlyMap<string, readonly ContainerFigures[]>;
}

export interface ContainerFigures extends Figures {
  readonly name: string;
  /** What the container has written to its root filesystem and its logs. */
  readonly diskBytes: number;
}

export interface Figures {
  /** Billionths of a CPU. */
  readonly cpuNanoCores: number;
  /** The working set. */
  readonly memoryBytes: number;
}

export interface SnapshotArchives {
  /** The archive of a complete snapshot. */
  export(place: SnapshotPlace, signal?: AbortSignal): Promise<Readable>;
  /**
   * Creates a SandboxSnapshot from an archive, which the caller may have written: call it only for callers who are trusted with
   * that. Rejects, and changes nothing, if the archive is not valid or does not fit. The error's `reason` says why.
   */
  import(content: SnapshotContent): Promise<KubeObject>;
}

export interface SnapshotPlace {
  readonly namespace: string;
  readonly name: string;
}

export interface SnapshotContent extends SnapshotPlace {
  readonly content: AsyncIterable<Uint8Array>;
}

export interface PodPlace {
  readonly namespace: string;
  readonly pod: string;
}

export interface ContainerPlace extends PodPlace {
  /** The Pod's first container when absent. */
  readonly container?: string;
}

export interface ExecRequest extends ContainerPlace {
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
}

export interface AttachRequest extends ContainerPlace {
  readonly tty: boolean;
  readonly stdin: boolean;
}

export interface ExecSession {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Ends at once with a terminal, which carries both outputs in `stdout`. */
  readonly stderr: Readable;
  /** Only with a terminal. */
  resize(columns: number, rows: number): void;
  /** Resolves after both outputs have ended. */
  readonly exit: Promise<{ readonly code: number; readonly signal?: string }>;
  /** Ends the command and everything it started. */
  kill(): void;
}

export interface LogRequest extends ContainerPlace {
  /** Continue with new output until the container ends. */
  readonly follow: boolean;
  /** The run before the current one. */
  readonly previous: boolean;
  /** Only lines written at this time or later, in milliseconds since 1970. */
  readonly sinceMs?: number;
  /** Prefix each line with the time it was written. */
  readonly timestamps: boolean;
  /** Start with at most this many existing lines. */
  readonly tailLines?: number;
  /** End after this many bytes. */
  readonly limitBytes?: number;
  /** Both when absent. */
  readonly stream?: "stdout" | "stderr";
}

export interface PortForwardRequest extends PodPlace {
  readonly port: number;
}

/**
 * An API server reports the sessions of its clients with Pods here: exec, attach, port-forward, followed logs and proxied requests.
 * In the box the router implements it: a session wakes its Sandbox and counts as activity.
 */
export interface PodSessions {
  /**
   * Begins a session that lasts until the result is disposed. Resolves when the target can be used: at once, unless it belongs
   * to a Sandbox that is asleep or starting. Call it only for a caller who is allowed to have the session, and look the Pod
   * up again afterwards: waking a Sandbox creates a new one. Rejects with a `KubeError` when the Sandbox does not come up.
   */
  begin(target: SessionTarget, signal: AbortSignal): Promise<Disposable>;
}

/** A Pod or Service by name, with the object that the API server has under that name. */
export interface SessionTarget {
  readonly resource: "pods" | "services";
  readonly namespace: string;
  readonly name: string;
  readonly object: KubeObject | undefined;
}
