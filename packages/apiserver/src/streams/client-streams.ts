import type { Readable, Writable } from "node:stream";
import type { Status } from "@agent-sandbox/api";

/** The client's end of a command, whatever the wire. What it did not ask for is undefined. */
export interface ClientStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Calls back with what the client sends about its terminal, one message at a time. */
  onResize(listener: (message: string) => void): void;
  /** Settles when the client is gone. */
  readonly gone: Promise<void>;
  /** Says how it ended, and hangs up. */
  finish(status: Status): Promise<void>;
}
