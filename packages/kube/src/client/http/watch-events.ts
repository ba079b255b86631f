import { KubeError } from "../../errors.ts";
import type { WatchEvent } from "../../transport.ts";
import type { Exchange } from "./exchange.ts";
import { LineSplitter } from "./line-splitter.ts";

/** The events of a watch in batches as they arrive. Complete events before a failure are returned first. */
export async function* watchEvents(
  exchange: Exchange,
  maxLineBytes: number,
): AsyncGenerator<readonly WatchEvent[], void, undefined> {
  const splitter = new LineSplitter(maxLineBytes);
  for await (const chunks of exchange.chunks()) {
    const events: WatchEvent[] = [];
    let failure: unknown;
    try {
      for (const chunk of chunks) splitter.push(chunk, (line) => events.push(parseEvent(line)));
    } catch (error) {
      failure = error;
    }
    yield events;
    if (failure !== undefined) throw failure;
  }
}

function parseEvent(line: Buffer): WatchEvent {
  const text = line.toString("utf8");
  try {
    const event: unknown = JSON.parse(text);
    if (typeof event === "object" && event !== null) return event as WatchEvent;
  } catch {
    // Reported below.
  }
  throw new KubeError(
    "InvalidResponse",
    `Cannot read the watch: ${JSON.stringify(text.slice(0, 100))} is not a watch event`,
  );
}
