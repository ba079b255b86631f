import { expect, test } from "vitest";
import { type CodeEvent, readCodeEvents } from "./code-events.ts";

async function read(text: string, size: number): Promise<(CodeEvent | undefined)[]> {
  const bytes = Buffer.from(text);
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  };
  const events: (CodeEvent | undefined)[] = [];
  for await (const event of readCodeEvents(chunks())) events.push(event);
  return events;
}

const line = (event: CodeEvent): string => `${JSON.stringify(event)}\n`;

test.for([1, 3, 1000])("reads events from chunks of %d bytes", async (size) => {
  const events = [
    { type: "stdout", text: "é\n" },
    { type: "result", data: { "text/plain": "語" } },
    { type: "end", execution_count: 1 },
  ];
  expect(await read(`${events.map(line).join("\n")}{"type":"lost`, size)).toEqual(events);
});

test("leaves out an event that is too long, and reads those after it", async () => {
  const large = { type: "display", data: { "image/png": "x".repeat(10_000_000) } };
  const end = { type: "end", execution_count: 2 };
  expect(await read(line(large) + line(end), 65_536)).toEqual([undefined, end]);
  expect(await read(line(large) + line(end), 100_000_000)).toEqual([undefined, end]);
});
