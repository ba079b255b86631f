/**
 * The number of steps of a pattern after its repetitions are expanded, as RE2 does: `(ab){3}` has six. The time and memory of
 * compilation grow with it, and a pattern of a few bytes can have millions of steps. The result is an estimate, and arbitrary
 * for patterns that RE2 rejects.
 */
export function patternSize(pattern: string): number {
  const open: number[] = [];
  let size = 0;
  let atom = 0;
  for (const [token, , least = "", most = ""] of pattern.matchAll(tokens)) {
    if (token === "(") {
      open.push(size);
      size = 0;
      atom = 0;
    } else if (token === ")") {
      atom = size;
      size += open.pop() ?? 0;
    } else if (token.startsWith("{") && least !== "") {
      const times = Math.max(Number(least), Number(most)) - 1;
      size += atom * Math.max(0, times);
      atom *= Math.max(1, times + 1);
    } else {
      atom = 1;
      size += 1;
    }
  }
  return open.reduce((sum, outer) => sum + outer, size);
}

/** An escape, a class, a repetition, or any other character. */
const tokens = /\\[pP]\{[^}]*\}|\\.|\[(\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*)\]|\{(\d{1,6})(?:,(\d{0,6}))?\}|[^]/gu;
