/** A line that is longer does not come from our servers. */
const longestLineBytes = 64 * 1024 * 1024;

/** The JSON documents of a body that has one per line. A last line without an end is ignored: the connection was lost. */
export async function* readJsonLines<T>(body: AsyncIterable<Uint8Array>): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > longestLineBytes) throw new Error("The server sent a line that is too long");
    for (const line of lines) if (line !== "") yield JSON.parse(line) as T;
  }
}
