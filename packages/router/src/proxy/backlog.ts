import type { Duplex } from "node:stream";
import { breakOff } from "./line.ts";

/**
 * What is queued for those who do not read it, over all lines. Each line has a limit of its own; when all of them together
 * hold more than this, one is broken off: of the namespace that holds most, the line that has stood still for longest. So
 * no number of callers can take the memory of all others. Who reads, however slowly, is younger than who does not.
 */
export class Backlog {
  readonly #mostBytes: number;
  /** What each line held when last looked at, in the order in which they came to a stand. */
  readonly #held = new Map<Duplex, Held>();
  readonly #byNamespace = new Map<string, number>();
  readonly #known = new WeakSet<Duplex>();
  readonly #namespaces = new WeakMap<Duplex, string>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What is written to the line from now on is for a sandbox of this namespace, or from one. */
  assign(line: Duplex, namespace: string): void {
    this.#namespaces.set(line, namespace);
  }

  /** To be told of each line that something was written to. */
  wrote(line: Duplex): void {
    if (!line.writableNeedDrain) return;
    this.#follow(line);
    const namespace = this.#namespaces.get(line) ?? "";
    const before = this.#held.get(line);
    this.#count(before?.namespace ?? namespace, -(before?.bytes ?? 0));
    this.#count(namespace, line.writableLength);
    this.#held.set(line, { namespace, bytes: line.writableLength });
    while (this.#bytes > this.#mostBytes) {
      const stalled = this.#oldestOf(this.#greediest());
      if (stalled === undefined) return;
      this.#release(stalled);
      breakOff(stalled);
    }
  }

  #greediest(): string {
    let [most, found] = [-1, ""];
    for (const [namespace, bytes] of this.#byNamespace) if (bytes > most) [most, found] = [bytes, namespace];
    return found;
  }

  #oldestOf(namespace: string): Duplex | undefined {
    for (const [line, held] of this.#held) if (held.namespace === namespace) return line;
    return undefined;
  }

  #follow(line: Duplex): void {
    if (this.#known.has(line)) return;
    this.#known.add(line);
    const release = (): void => this.#release(line);
    line.on("drain", release);
    line.on("close", release);
  }

  #release(line: Duplex): void {
    const held = this.#held.get(line);
    if (held === undefined) return;
    this.#count(held.namespace, -held.bytes);
    this.#held.delete(line);
  }

  #count(namespace: string, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#byNamespace.get(namespace) ?? 0) + bytes;
    if (left > 0) this.#byNamespace.set(namespace, left);
    else this.#byNamespace.delete(namespace);
  }
}

interface Held {
  readonly namespace: string;
  readonly bytes: number;
}
