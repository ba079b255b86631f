import type { Duplex, Readable, Writable } from "node:stream";

/**
 * What an API server asks of the node that runs a Pod. The box joins the two in one process. Everything fails with a
 * `KubeError` before it has had an effect; what a node does not implement is refused for it.
 */
export interface PodStreams {
  /** Starts a command in a running container. */
  exec(request: ExecRequest): Promise<ExecSession>;
  /**
   * Follows what a running container writes from now on, until it ends or restarts. The session's `kill` hangs up and
   * leaves the container alone.
   */
  attach?(request: AttachRequest): Promise<ExecSession>;
  /** What a container has written. Whoever destroys the stream follows no longer. */
  logs?(request: LogRequest): Promise<Readable>;
  /** Connects to a port as a program inside the Pod would connect to its own machine. */
  portForward?(request: PortForwardRequest): Promise<Duplex>;
  /** What Pods use of the machine, as Prometheus' text, at a path of the kubelet's such as `/metrics/resource`. */
  metrics?(path: string): Promise<Readable>;
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
  /** Ends at once when there is a terminal: it carries both. */
  readonly stderr: Readable;
  /** Only with a terminal. */
  resize(columns: number, rows: number): void;
  /** Settles after both outputs have ended. */
  readonly exit: Promise<{ readonly code: number; readonly signal?: string }>;
  /** Ends the command and everything it started. */
  kill(): void;
}

export interface LogRequest extends ContainerPlace {
  /** Go on with what is written from now on, until the container ends. */
  readonly follow: boolean;
  /** The run before the current one. */
  readonly previous: boolean;
  /** Only lines written at this time or later, in milliseconds since 1970. */
  readonly sinceMs?: number;
  /** Begin each line with the time it was written. */
  readonly timestamps: boolean;
  /** Of what is there, only this many lines from the end. */
  readonly tailLines?: number;
  /** End after this many bytes. */
  readonly limitBytes?: number;
  /** Both when absent. */
  readonly stream?: "stdout" | "stderr";
}

export interface PortForwardRequest extends PodPlace {
  readonly port: number;
}
