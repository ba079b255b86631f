import { readFileSync, writeFileSync } from "node:fs";
import type { Loose } from "./loose.ts";

/** Measures how much memory the box and sandboxd need more while something large passes through them. */
export class MemoryOf implements AsyncDisposable {
  readonly #box: number;
  readonly #before: number;
  readonly #samples: number[] = [];
  readonly #stopping = new AbortController();
  #sampling: Promise<void> = Promise.resolve();

  private constructor(box: number, before: number) {
    this.#box = box;
    this.#before = before;
  }

  static async start(box: number, run: (command: string) => Promise<Loose>): Promise<MemoryOf> {
    // The kernel begins again with the present size as the highest one.
    writeFileSync(`/proc/${box}/clear_refs`, "5");
    const measured = new MemoryOf(box, fieldOf(box, "VmRSS"));
    const sample = async (): Promise<number> =>
      Number((await run('ps -o rss= -p "$(pgrep -o -x sandboxd)"')).stdout) * 1024;
    measured.#samples.push(await sample());
    measured.#sampling = (async () => {
      while (!measured.#stopping.signal.aborted) measured.#samples.push(await sample());
    })();
    measured.#sampling.catch(() => undefined);
    return measured;
  }

  /** By how many bytes each of them has grown at most. */
  get growth(): { readonly box: number; readonly sandboxd: number } {
    const [first = Number.NaN] = this.#samples;
    return { box: fieldOf(this.#box, "VmHWM") - this.#before, sandboxd: Math.max(...this.#samples) - first };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#sampling;
  }
}

function fieldOf(pid: number, name: string): number {
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kibibytes) * 1024;
}
