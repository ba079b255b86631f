/** More marks on one character are dropped: xterm.js keeps and draws all of them. */
const mostMarks = 16;

/**
 * The output of a terminal without what changes how other text looks: characters that reorder, hide or break lines, and piles of combining
 * marks. Escape sequences stay: xterm.js interprets them, as `screen.ts` allows.
 */
export class OutputCleaner {
  /** At the end of the text so far. */
  #marks = 0;

  clean(text: string): string {
    const shown = text.replaceAll(/[\p{Bidi_Control}\u200b\u2028\u2029\u2060\ufeff\u{e0000}-\u{e007f}]/gu, "\ufffd");
    const cut = shown.replaceAll(/\p{M}+/gu, (marks, at: number) => {
      const before = at === 0 ? this.#marks : 0;
      return marks.slice(0, Math.max(0, mostMarks - before));
    });
    const [end = ""] = /\p{M}*$/u.exec(shown) ?? [];
    this.#marks = end.length === shown.length ? this.#marks + end.length : end.length;
    return cut;
  }
}
