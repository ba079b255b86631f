/** The headers that determine where a message ends and what happens to its connection. */
export interface TransportHeaders {
  /** From Content-Length. */
  readonly length: number | undefined;
  readonly isChunked: boolean;
  /** The tokens of `Connection`, in lower case. */
  readonly connection: readonly string[];
  readonly upgrade: string | undefined;
  readonly expect: string | undefined;
  /** From `Keep-Alive: timeout=`: when the other side closes an idle connection. */
  readonly keepAliveSeconds: number | undefined;
}

interface Reading {
  length: string | undefined;
  coding: string | undefined;
  isRepeated: boolean;
  connection: string | undefined;
  upgrade: string | undefined;
  expect: string | undefined;
  keepAlive: string | undefined;
}

const none: readonly string[] = [];
// Fifteen digits fit into a double exactly.
const plainLength = /^\d{1,15}$/;

/**
 * Returns an error if the end of the message is ambiguous. Request smuggling depends on two parsers that disagree about it
 * (RFC 9112, 6.3 and 11.2). So a repeated length, a length together with chunks, and any coding but `chunked` are refused.
 */
export function readTransportHeaders(rawHeaders: readonly string[]): TransportHeaders | { readonly error: string } {
  const reading: Reading = {
    length: undefined,
    coding: undefined,
    isRepeated: false,
    connection: undefined,
    upgrade: undefined,
    expect: undefined,
    keepAlive: undefined,
  };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    readOne(reading, rawHeaders[index] as string, rawHeaders[index + 1] as string);
  }
  const { length, coding, connection } = reading;
  if (reading.isRepeated) return { error: "the length is given more than once" };
  if (length !== undefined && coding !== undefined) return { error: "there is a length and a transfer coding" };
  if (length !== undefined && !plainLength.test(length)) return { error: "the length is not a number" };
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return { error: "the transfer coding is not supported" };
  return {
    length: length === undefined ? undefined : Number(length),
    isChunked: coding !== undefined,
    connection: connection === undefined ? none : tokens(connection),
    upgrade: reading.upgrade,
    expect: reading.expect,
    keepAliveSeconds: secondsIn(reading.keepAlive),
  };
}

/** Most headers are none of these. Comparing the length of the name first finds that out quickly. */
function readOne(reading: Reading, name: string, value: string): void {
  switch (name.length) {
    case 14:
      if (name.toLowerCase() === "content-length") {
        reading.isRepeated ||= reading.length !== undefined;
        reading.length = value;
      }
      return;
    case 17:
      if (name.toLowerCase() === "transfer-encoding") {
        reading.isRepeated ||= reading.coding !== undefined;
        reading.coding = value;
      }
      return;
    case 10:
      readConnectionHeader(reading, name.toLowerCase(), value);
      return;
    case 7:
      if (name.toLowerCase() === "upgrade") reading.upgrade = joined(reading.upgrade, value);
      return;
    case 6:
      if (name.toLowerCase() === "expect") reading.expect = joined(reading.expect, value);
      return;
    default:
  }
}

function readConnectionHeader(reading: Reading, lower: string, value: string): void {
  if (lower === "connection") reading.connection = joined(reading.connection, value);
  else if (lower === "keep-alive") reading.keepAlive = value;
}

const joined = (before: string | undefined, value: string): string =>
  before === undefined ? value : `${before},${value}`;

/** The tokens of a list header, in lower case. */
export function tokens(value: string): string[] {
  return value
    .toLowerCase()
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function secondsIn(keepAlive: string | undefined): number | undefined {
  const [, digits] = /(?:^|[,;\s])timeout=(\d{1,9})/i.exec(keepAlive ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}
