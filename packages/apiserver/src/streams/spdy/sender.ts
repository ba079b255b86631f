import type { Duplex } from "node:stream";
import { Condition } from "./condition.ts";
import { encodeFrame, type Frame, initialWindowBytes } from "./frames.ts";
import { SendWindow } from "./send-window.ts";

/** Small enough for streams to alternate, large enough for throughput. */
const chunkBytes = 64 * 1024;
const connectionId = 0;

/** Sends frames on a connection, as fast as the network and the peer's windows allow. */
export class Sender {
  readonly #transport: Duplex;
  readonly #windows = new Map<number, SendWindow>([[connectionId, new SendWindow()]]);
  readonly #moved = new Condition();
  /** Bytes read but not yet returned to the peer's window, by stream. */
  readonly #taken = new Map<number, number>();
  #windowsKept = false;
  #initialWindow = initialWindowBytes;
  #closed = false;

  constructor(transport: Duplex) {
    this.#transport = transport;
  }

  add(streamId: number): void {
    const window = new SendWindow();
    window.grow(this.#initialWindow - initialWindowBytes);
    this.#windows.set(streamId, window);
  }

  remove(streamId: number): void {
    this.#windows.delete(streamId);
    this.#taken.delete(streamId);
    this.#moved.notifyAll();
  }

  /** Refuses all further and waiting sends. */
  close(): void {
    this.#closed = true;
    this.#moved.notifyAll();
  }

  /** Sends a small frame immediately. */
  frame(frame: Frame): void {
    if (this.#transport.writable) this.#transport.write(encodeFrame(frame));
  }

  async data(streamId: number, bytes: Buffer, fin: boolean): Promise<void> {
    let rest = bytes;
    do {
      const length = await this.#allowance(streamId, Math.min(rest.length, chunkBytes));
      const part = rest.subarray(0, length);
      rest = rest.subarray(length);
      await this.#written(encodeFrame({ type: "data", streamId, fin: fin && rest.length === 0, bytes: part }));
    } while (rest.length > 0);
  }

  /** Resolves when everything was written to the network or the connection has ended. */
  async drained(): Promise<void> {
    await this.#written(Buffer.alloc(0)).catch(() => undefined);
  }

  /** Increases a window, with stream 0 for the connection. Returns false when it exceeds its maximum. */
  grow(streamId: number, delta: number): boolean {
    this.#windowsKept = true;
    const fits = this.#windows.get(streamId)?.grow(delta) ?? true;
    this.#moved.notifyAll();
    return fits;
  }

  setInitialWindow(bytes: number | undefined): boolean {
    if (bytes === undefined) return true;
    const change = bytes - this.#initialWindow;
    this.#initialWindow = bytes;
    const streams = [...this.#windows.keys()].filter((id) => id !== connectionId);
    return streams.every((id) => this.grow(id, change)) && bytes <= 0x7f_ff_ff_ff;
  }

  /** Returns read bytes to the peer's windows. Updates are combined and not sent for every chunk. */
  giveBack(streamId: number | undefined, bytes: number): void {
    for (const id of streamId === undefined ? [connectionId] : [connectionId, streamId]) {
      const delta = (this.#taken.get(id) ?? 0) + bytes;
      const isDue = delta >= initialWindowBytes / 2;
      this.#taken.set(id, isDue ? 0 : delta);
      if (isDue) this.frame({ type: "window-update", streamId: id, delta });
    }
  }

  async #allowance(streamId: number, wanted: number): Promise<number> {
    for (;;) {
      const [own, shared] = [this.#windows.get(streamId), this.#windows.get(connectionId)];
      if (own === undefined || shared === undefined || this.#closed)
        throw new Error(`Cannot send on stream ${streamId}: it is closed`);
      const allowed = this.#windowsKept ? Math.min(own.allows(wanted), shared.allows(wanted)) : wanted;
      if (allowed > 0 || wanted === 0) {
        own.spend(allowed);
        shared.spend(allowed);
        return allowed;
      }
      await this.#moved.wait();
    }
  }

  #written(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#transport.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }
}
