import type { Readable, Writable } from "node:stream";
import type { Status } from "@agent-sandbox/api";

/** The client's streams of a command, for any protocol. Streams that were not requested are undefined. */
export interface ClientStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Calls the listener with each terminal size message of the client. */
  onResize(listener: (message: string) => void): void;
  /** Settles when the client has disconnected. */
  readonly gone: Promise<void>;
  /** Sends the status and closes the connection. */
  finish(status: Status): Promise<void>;
}
