/** How a message travels over its connection: what its headers say about its length and about the connection. */
export interface TransportHeaders {
  /** Bytes in the body, if the sender said so. */
  readonly length: number | undefined;
  readonly isChunked: boolean;
  /** The tokens of `Connection`, in lower case. */
  readonly connection: readonly string[];
  readonly upgrade: string | undefined;
  readonly expect: string | undefined;
  /** Seconds after which the other side closes an idle connection, if it said so. */
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
// Fifteen digits are fewer than a double can count.
const plainLength = /^\d{1,15}$/;

/**
 * Reads them, or says that they leave in doubt where the message ends: two readers that disagree about that are how one
 * request is hidden in another (RFC 9112, 6.3 and 11.2). No sender that means well repeats a length, gives a length beside
 * chunks, or uses any coding but `chunked`.
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
  if (reading.isRepeated) return { error: "The length is given more than once" };
  if (length !== undefined && coding !== undefined) return { error: "A length is given beside chunks" };
  if (length !== undefined && !plainLength.test(length)) return { error: "The length is no number" };
  if (coding !== undefined && coding.toLowerCase() !== "chunked") return { error: "The transfer coding is not known" };
  return {
    length: length === undefined ? undefined : Number(length),
    isChunked: coding !== undefined,
    connection: connection === undefined ? none : tokens(connection),
    upgrade: reading.upgrade,
    expect: reading.expect,
    keepAliveSeconds: secondsIn(reading.keepAlive),
  };
}

/** Nearly all headers are none of these: their length tells that before anything is compared. */
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
      readAboutConnection(reading, name.toLowerCase(), value);
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

function readAboutConnection(reading: Reading, lower: string, value: string): void {
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
