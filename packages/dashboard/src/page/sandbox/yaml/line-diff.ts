/** The difference of two texts by lines. Pure. */

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
  readonly key: number;
}

/** Larger texts are compared as a whole: the table of the comparison would be too large. */
const mostLines = 4000;

/** The shortest way from one text to the other, by the longest common subsequence of their lines. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const middle = changes(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const same = (lines: readonly string[]): Omit<DiffLine, "key">[] => lines.map((text) => ({ kind: "same", text }));
  return [...same(a.slice(0, start)), ...middle, ...same(end === 0 ? [] : a.slice(-end))].map((line, key) => ({
    ...line,
    key,
  }));
}

function changes(a: readonly string[], b: readonly string[]): Omit<DiffLine, "key">[] {
  const removed = (text: string) => ({ kind: "removed", text }) as const;
  const added = (text: string) => ({ kind: "added", text }) as const;
  if (a.length === 0 || b.length === 0 || a.length * b.length > mostLines ** 2)
    return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Omit<DiffLine, "key">[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      lines.push({ kind: "same", text: left });
      i++;
      j++;
    } else if (right === undefined || (left !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(left ?? ""));
      i++;
    } else {
      lines.push(added(right));
      j++;
    }
  }
  return lines;
}

/** Only changed lines, with a few lines around them. `undefined` stands for lines that were left out. */
export function onlyChanges(lines: readonly DiffLine[], around = 3): readonly (DiffLine | undefined)[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== "same"),
  );
  return lines.flatMap((line, index): (DiffLine | undefined)[] => {
    if (isNear[index] === true) return [line];
    return isNear[index - 1] === true || (index === 0 && lines.length > 1) ? [undefined] : [];
  });
}
