import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** The same for a TCP connection and for the TLS connection on it. */
export function connectionKey({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

interface Connection {
  readonly socket: Duplex;
  /** Admitted requests in progress. */
  busy: number;
  /** The value of the use counter when it was last used. */
  idleSince: number;
}

/** One hundredth of the connections is closed at once: finding the idle ones costs more than closing them. */
const closedShare = 100;

/**
 * Limits the number of client connections. When the limit is reached, the connections that have been idle for longest
 * are closed. Only admitted requests count as use, so a client without credentials cannot keep others out.
 */
export class ConnectionLimit {
  readonly #max: number;
  readonly #connections = new Map<string, Connection>();
  #uses = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Counts the connection until it closes. Destroys it if all others are busy. */
  add(socket: Duplex, key: string): void {
    if (this.#connections.size >= this.#max) this.#closeIdle();
    if (this.#connections.size >= this.#max) {
      socket.destroy();
      return;
    }
    const connection = { socket, busy: 0, idleSince: this.#countUse() };
    this.#connections.set(key, connection);
    socket.on("close", () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
  }

  /** The connection is busy until the result is disposed. */
  markBusy(key: string): Disposable {
    const connection = this.#connections.get(key);
    if (connection !== undefined) connection.busy += 1;
    return {
      [Symbol.dispose]: () => {
        if (connection === undefined) return;
        connection.busy -= 1;
        connection.idleSince = this.#countUse();
      },
    };
  }

  #countUse(): number {
    this.#uses += 1;
    return this.#uses;
  }

  #closeIdle(): void {
    const idle = Array.from(this.#connections).filter(([, { busy }]) => busy === 0);
    idle.sort(([, one], [, other]) => one.idleSince - other.idleSince);
    for (const [key, { socket }] of idle.slice(0, Math.ceil(this.#max / closedShare))) {
      this.#connections.delete(key);
      socket.destroy();
    }
  }
}
