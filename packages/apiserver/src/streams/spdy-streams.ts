import type { Duplex } from "node:stream";
import { finished } from "node:stream/promises";
import type { ClientStreams } from "./client-streams.ts";
import type { WantedStreams } from "./command-request.ts";
import { SpdyConnection } from "./spdy/spdy-connection.ts";
import type { SpdyStream } from "./spdy/spdy-stream.ts";

type StreamType = "error" | "stdin" | "stdout" | "stderr" | "resize";

/** Clients open all streams immediately after the upgrade. */
const openWithinMs = 30_000;

/** The streams of a command over SPDY. A header of each stream gives its type. */
export async function spdyStreams(transport: Duplex, wanted: WantedStreams): Promise<ClientStreams | undefined> {
  const opened = new Map<StreamType, SpdyStream>();
  const expected = expectedStreams(wanted);
  const complete = Promise.withResolvers<void>();
  const connection = new SpdyConnection(transport, {
    onStream: (stream) => {
      const type = expected.find((each) => each === stream.headers.get("streamtype"));
      if (type === undefined || opened.has(type)) return void stream.destroy();
      opened.set(type, stream);
      if (opened.size === expected.length) complete.resolve();
    },
  });
  const timer = setTimeout(() => connection[Symbol.dispose](), openWithinMs);
  await Promise.race([complete.promise, connection.closed]);
  clearTimeout(timer);
  return opened.size === expected.length ? joined(connection, opened) : undefined;
}

function expectedStreams({ stdin, stdout, stderr, tty }: WantedStreams): StreamType[] {
  const types = { error: true, stdin, stdout, stderr, resize: tty };
  return (Object.keys(types) as StreamType[]).filter((type) => types[type]);
}

function joined(connection: SpdyConnection, streams: ReadonlyMap<StreamType, SpdyStream>): ClientStreams {
  const error = streams.get("error") as SpdyStream;
  // Only one direction of each stream is used. Discard data in the other direction.
  for (const type of ["error", "stdout", "stderr"] as const) streams.get(type)?.resume();
  return {
    stdin: streams.get("stdin"),
    stdout: streams.get("stdout"),
    stderr: streams.get("stderr"),
    onResize: (listener) => {
      const input = streams.get("resize");
      if (input !== undefined) readLines(input, listener);
    },
    gone: connection.closed,
    finish: async (status) => {
      error.end(JSON.stringify(status));
      await finished(error, { readable: false }).catch(() => undefined);
      for (const type of ["stdin", "resize"] as const) streams.get(type)?.end();
      connection.close();
    },
  };
}

/** Far above the length of a terminal size in JSON. */
const maxLineLength = 1024;

function readLines(input: SpdyStream, listener: (line: string) => void): void {
  let rest = "";
  input.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(0, maxLineLength);
    for (const line of lines) listener(line);
  });
}
