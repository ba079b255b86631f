import type { Readable, Writable } from "node:stream";

/** What an API server asks of the node that runs a Pod. The box joins the two in one process. */
export interface PodStreams {
  /** Starts a command in a running container. Fails with a `KubeError` before anything has run. */
  exec(request: ExecRequest): Promise<ExecSession>;
}

export interface ExecRequest {
  readonly namespace: string;
  readonly pod: string;
  /** The Pod's first container when absent. */
  readonly container?: string;
  readonly command: readonly string[];
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
