import type { Socket } from "node:net";

/** The same for a connection and for the TLS on it. */
export function connectionKey({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

interface Place {
  readonly socket: Socket;
  /** Admitted requests under way. */
  busy: number;
  /** In which turn it was last used. */
  idleSince: number;
}

/** So many are closed together: looking for them costs more than closing them. */
const sharePerTurn = 100;

/**
 * The connections of callers. When there are as many as there may be, those are closed for new ones that have been without an
 * admitted request for longest: whoever has no credential keeps nobody out by connecting.
 */
export class ConnectionPlaces {
  readonly #most: number;
  readonly #places = new Map<string, Place>();
  #turn = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Takes the connection in, or destroys it when all others are busy. */
  arrived(socket: Socket): void {
    if (this.#places.size >= this.#most) this.#makeRoom();
    if (this.#places.size >= this.#most) {
      socket.destroy();
      return;
    }
    const key = connectionKey(socket);
    const place = { socket, busy: 0, idleSince: this.#next() };
    this.#places.set(key, place);
    socket.on("close", () => {
      if (this.#places.get(key) === place) this.#places.delete(key);
    });
  }

  /** The connection is in use until disposed. */
  begin(connection: string): Disposable {
    const place = this.#places.get(connection);
    if (place !== undefined) place.busy += 1;
    return {
      [Symbol.dispose]: () => {
        if (place === undefined) return;
        place.busy -= 1;
        place.idleSince = this.#next();
      },
    };
  }

  #next(): number {
    this.#turn += 1;
    return this.#turn;
  }

  #makeRoom(): void {
    const idle = Array.from(this.#places).filter(([, { busy }]) => busy === 0);
    idle.sort(([, one], [, other]) => one.idleSince - other.idleSince);
    for (const [key, { socket }] of idle.slice(0, Math.ceil(this.#most / sharePerTurn))) {
      this.#places.delete(key);
      socket.destroy();
    }
  }
}
