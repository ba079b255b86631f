/** A certificate with its key, PEM. */
export interface PemPair {
  readonly certificate: string;
  readonly key: string;
}

/** The webhook's certificate in memory: with a read-only root filesystem there is no place for files. */
export class MemoryPair {
  #pair: PemPair | undefined;
  #onChange: (() => void) | undefined;

  /** Tells the listener if the pair is another one. */
  set({ certificate, key }: PemPair): void {
    const isSame = this.#pair?.certificate === certificate && this.#pair.key === key;
    this.#pair = { certificate, key };
    if (!isSame) this.#onChange?.();
  }

  get(): PemPair {
    if (this.#pair === undefined) throw new Error("Cannot serve the webhook: there is no certificate yet");
    return this.#pair;
  }

  /** Calls `listener` after each change until the returned function is called. Replaces the listener before. */
  watch(listener: () => void): () => void {
    this.#onChange = listener;
    return () => {
      this.#onChange = undefined;
    };
  }
}
