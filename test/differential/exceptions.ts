import type { Difference } from "./compare.ts";

/** A difference that is known. One that is no longer there fails the suite. */
export interface Exception {
  /** For users. */
  readonly why: string;
  /** Each `<case>: <path>`, where `*` stands for anything. */
  readonly at?: readonly string[];
  /** The same, for what kube-apiserver alone has there. */
  readonly lacking?: readonly string[];
}

/** Keeps count of which exceptions were of use. */
export class Exceptions {
  readonly #globs: readonly { readonly glob: string; readonly pattern: RegExp; readonly lacking: boolean }[];
  readonly #used = new Set<string>();

  constructor(table: readonly Exception[]) {
    this.#globs = table.flatMap(({ at = [], lacking = [] }) => [
      ...at.map((glob) => ({ glob, pattern: globToPattern(glob), lacking: false })),
      ...lacking.map((glob) => ({ glob, pattern: globToPattern(glob), lacking: true })),
    ]);
  }

  /** The differences that no exception knows of. */
  unexpected(caseName: string, found: readonly Difference[]): Difference[] {
    return found.filter(({ path, ours }) => {
      const known = this.#globs.filter(
        ({ pattern, lacking }) => pattern.test(`${caseName}: ${path}`) && (!lacking || ours === undefined),
      );
      for (const { glob } of known) this.#used.add(glob);
      return known.length === 0;
    });
  }

  /** Those that stood for nothing. */
  get unused(): string[] {
    return this.#globs.map(({ glob }) => glob).filter((glob) => !this.#used.has(glob));
  }
}

function globToPattern(glob: string): RegExp {
  const parts = glob.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
