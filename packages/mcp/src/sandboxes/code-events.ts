/** What sandboxd reports of code that it runs, one JSON document per line. */
export interface CodeEvent {
  readonly type: string;
  readonly text?: string;
  readonly data?: CodeValue;
  readonly name?: string;
  readonly message?: string;
  readonly traceback?: string;
  readonly execution_count?: number;
}

/** A value by media type, always with `text/plain`. */
export type CodeValue = Readonly<Record<string, unknown>>;

/** An image of 1 MiB fits. Code can display values of any size. */
const longestLine = 4_194_304;

/** The events of a run. One that is too long is `undefined`: what follows it is still of use. */
export async function* readCodeEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<CodeEvent | undefined> {
  const decoder = new TextDecoder();
  let [pieces, length] = [[] as string[], 0];
  const keep = (piece: string): void => {
    length += piece.length;
    if (length <= longestLine) pieces.push(piece);
    else pieces = [];
  };
  for await (const chunk of body) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    keep(first);
    for (const other of others) {
      if (length > longestLine) yield undefined;
      else if (length > 0) yield JSON.parse(pieces.join("")) as CodeEvent;
      [pieces, length] = [[], 0];
      keep(other);
    }
  }
}
