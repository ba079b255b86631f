/** The bytes of folders on the disk, by path. Undefined if they cannot be counted in time. */
export type CountBytes = (
  paths: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, number> | undefined>;

/**
 * The bytes of unusable images on the disk. Each image is measured once, because it does not change. A tenant can fill an image with
 * millions of files, so measuring takes up to a minute: no Pod may wait for it.
 */
export class UnusableSizes implements AsyncDisposable {
  readonly #count: CountBytes;
  readonly #stop = new AbortController();
  #known = new Map<string, number>();
  #measuring: Promise<void> = Promise.resolve();

  constructor(count: CountBytes) {
    this.#count = count;
  }

  /** Undefined until the image is measured. */
  of(path: string): number | undefined {
    return this.#known.get(path);
  }

  /** Resolves when everything is measured that was asked for. */
  settled(): Promise<void> {
    return this.#measuring;
  }

  /**
   * Measures the images in the background, one at a time, and forgets all others. One that takes too long counts as `atMost`. Calls `then`
   * afterwards, whose errors are ignored: the next sweep repeats its work and reports them.
   */
  measure(list: () => Promise<readonly string[]>, atMost: number, then: () => Promise<void>): void {
    const measure = async (): Promise<void> => {
      if (await this.#measureAll(await list(), atMost)) await then();
    };
    this.#measuring = this.#measuring.then(measure).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#measuring;
  }

  /** Returns whether an image was measured that was not known before. */
  async #measureAll(paths: readonly string[], atMost: number): Promise<boolean> {
    const { signal } = this.#stop;
    this.#known = new Map([...this.#known].filter(([path]) => paths.includes(path)));
    const unknown = paths.filter((path) => !this.#known.has(path));
    for (const path of unknown) {
      if (signal.aborted) return false;
      const counted = await this.#count([path], signal);
      // One that was removed in the meantime is missing.
      const bytes = counted === undefined ? atMost : counted.get(path);
      if (bytes !== undefined) this.#known.set(path, bytes);
    }
    return unknown.length > 0 && !signal.aborted;
  }
}
