/** Lines of a file: from one, which is counted from 1, and how many. */
export interface LineWindow {
  readonly first: number;
  readonly count: number;
}

const lineFeed = 10;

/** The bytes of some lines, with their ends. Stops reading after them. */
export async function* linesIn(
  source: AsyncIterable<Buffer>,
  { first, count }: LineWindow,
): AsyncGenerator<Buffer, void> {
  let line = 1;
  const end = first + count;
  if (count === 0) return;
  for await (const chunk of source) {
    let from = line >= first ? 0 : chunk.length;
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, at + 1)) {
      line++;
      if (line === first) from = at + 1;
      if (line < end) continue;
      yield chunk.subarray(from, at + 1);
      return;
    }
    if (from < chunk.length) yield chunk.subarray(from);
  }
}
