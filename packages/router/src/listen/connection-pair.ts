import { Duplex } from "node:stream";

/** One end of a connection within the process. What is written to one end is read from the other. */
class ConnectionEnd extends Duplex {
  #other: ConnectionEnd | undefined;
  /** Completes a write of the other end when this end has room for more. */
  #onRead: (() => void) | undefined;

  constructor() {
    super({ allowHalfOpen: true });
  }

  join(other: ConnectionEnd): void {
    this.#other = other;
  }

  /** Closes the connection after everything that was written, as `net.Socket` does. */
  destroySoon(): void {
    if (this.writableFinished) return void this.destroy();
    this.once("finish", () => this.destroy());
    this.end();
  }

  override _read(): void {
    const onRead = this.#onRead;
    this.#onRead = undefined;
    onRead?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const other = this.#other;
    // Nobody reads the rest, as on a connection whose other end was closed.
    if (other === undefined || other.destroyed || other.readableEnded) return done();
    // Copied, because the writer may free the chunk when the write is complete.
    if (other.push(Buffer.from(chunk))) done();
    else other.#onRead = done;
  }

  override _final(done: () => void): void {
    this.#other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const other = this.#other;
    const isWhole = this.writableFinished;
    // Completes a write that waits for this end to read.
    this._read();
    // An end that has sent everything leaves the other one time to read it.
    if (other !== undefined && !isWhole) process.nextTick(() => other.destroy());
    done(error);
  }
}

export type ServerEnd = ConnectionEnd;

/** Two ends of a connection within the process, with the backpressure and the half-closed states of a TCP connection. */
export function connectionPair(): { readonly client: Duplex; readonly server: ServerEnd } {
  const [client, server] = [new ConnectionEnd(), new ConnectionEnd()];
  client.join(server);
  server.join(client);
  return { client, server };
}
