import type { Difference } from "./compare.ts";

/** A known difference. The suite fails when it no longer exists. */
export interface Exception {
  /** The reason, for users. */
  readonly why: string;
  /** Each is `<case>: <path>`, where `*` matches anything. */
  readonly at?: readonly string[];
  /** The same for values that only kube-apiserver has. */
  readonly lacking?: readonly string[];
}

/** Filters known differences and counts their use. */
export class Exceptions {
  readonly #globs: readonly { readonly glob: string; readonly pattern: RegExp; readonly lacking: boolean }[];
  readonly #used = new Set<string>();

  constructor(table: readonly Exception[]) {
    this.#globs = table.flatMap(({ at = [], lacking = [] }) => [
      ...at.map((glob) => ({ glob, pattern: globToPattern(glob), lacking: false })),
      ...lacking.map((glob) => ({ glob, pattern: globToPattern(glob), lacking: true })),
    ]);
  }

  /** The differences that are not known. */
  unexpected(caseName: string, found: readonly Difference[]): Difference[] {
    return found.filter(({ path, ours }) => {
      const known = this.#globs.filter(
        ({ pattern, lacking }) => pattern.test(`${caseName}: ${path}`) && (!lacking || ours === undefined),
      );
      for (const { glob } of known) this.#used.add(glob);
      return known.length === 0;
    });
  }

  /** The known differences that did not occur. */
  get unused(): string[] {
    return this.#globs.map(({ glob }) => glob).filter((glob) => !this.#used.has(glob));
  }
}

function globToPattern(glob: string): RegExp {
  const parts = glob.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
