import { ByteQueue } from "../http/byte-queue.ts";

/** The values of a body with one JSON value per line. A line longer than `maxBytes` is an error. */
export async function* readJsonLines<T>(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<T> {
  using rest = new ByteQueue();
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      rest.push(chunk.subarray(start, end));
      start = end + 1;
      if (rest.length > 0) yield JSON.parse(rest.take().toString("utf8")) as Awaited<T>;
    }
    rest.push(chunk.subarray(start));
    if (rest.length > maxBytes) throw new Error(`Cannot read a line of more than ${maxBytes} bytes`);
  }
  if (rest.length > 0) yield JSON.parse(rest.take().toString("utf8")) as Awaited<T>;
}
