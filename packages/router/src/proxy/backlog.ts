import type { Duplex } from "node:stream";
import { breakOff } from "./line.ts";

/**
 * What is queued for those who do not read it, over all lines. Each line has a limit of its own; when all of them together
 * hold more than this, the line that has stood still for longest is broken off, so that no number of callers can take the
 * memory of all others. Who reads, however slowly, is younger than who does not.
 */
export class Backlog {
  readonly #mostBytes: number;
  /** What each line held when last looked at, in the order in which they came to a stand. */
  readonly #held = new Map<Duplex, number>();
  readonly #known = new WeakSet<Duplex>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** To be told of each line that something was written to. */
  wrote(line: Duplex): void {
    if (!line.writableNeedDrain) return;
    this.#follow(line);
    this.#bytes += line.writableLength - (this.#held.get(line) ?? 0);
    this.#held.set(line, line.writableLength);
    for (const [oldest] of this.#held) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#release(oldest);
      breakOff(oldest);
    }
  }

  #follow(line: Duplex): void {
    if (this.#known.has(line)) return;
    this.#known.add(line);
    const release = (): void => this.#release(line);
    line.on("drain", release);
    line.on("close", release);
  }

  #release(line: Duplex): void {
    this.#bytes -= this.#held.get(line) ?? 0;
    this.#held.delete(line);
  }
}
