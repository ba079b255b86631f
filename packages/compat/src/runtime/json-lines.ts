/** The values of a body with one JSON value per line. A line longer than `maxBytes` is an error. */
export async function* readJsonLines<T>(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<T> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line =
        rest.length === 0 ? chunk.subarray(start, end) : Buffer.concat([...rest, chunk.subarray(start, end)]);
      [rest, restBytes, start] = [[], 0, end + 1];
      if (line.length > 0) yield JSON.parse(line.toString("utf8")) as Awaited<T>;
    }
    rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes > maxBytes) throw new Error(`Cannot read a line of more than ${maxBytes} bytes`);
  }
  const last = Buffer.concat(rest);
  if (last.length > 0) yield JSON.parse(last.toString("utf8")) as Awaited<T>;
}
