import { METHODS } from "node:http";

/** A request's head. Only its grammar has been checked. */
export interface RequestHeadText {
  readonly method: string;
  readonly target: string;
  /** HTTP/1.0 or HTTP/1.1. */
  readonly minorVersion: 0 | 1;
  /** Names and values alternate. */
  readonly rawHeaders: string[];
}

export interface ResponseHeadText {
  readonly status: number;
  readonly message: string;
  readonly minorVersion: 0 | 1;
  readonly rawHeaders: string[];
}

/** `many`: too many headers. `malformed`: not valid by the grammar of RFC 9112. */
export type HeadError = "malformed" | "many";

/** 64 KiB have room for about sixteen thousand headers of four bytes. No regular client comes near this limit. */
const maxHeaders = 5000;

/** Only known methods are accepted, so that the rest of a body that exceeds its length is not read as a request. */
const methods: ReadonlySet<string> = new Set(METHODS);

// RFC 9110, 5.6.2 and 5.5. No space before the colon of a header, no folded lines, no bare CR or LF.
// Adjacent parts never match the same characters, so that matching is linear in the length of the line.
const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const requestLine: RegExp = new RegExp(`(${token}) ([\\x21-\\x7e]+) HTTP/1\\.([01])\\r\\n`, "y");
const statusLine = /HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n/y;
const headerLine: RegExp = new RegExp(`(${token}):[\\t ]*(?![\\t ])([\\t\\x20-\\x7e\\x80-\\xff]*)\\r\\n`, "y");
const requestStart: RegExp = new RegExp(`^${token}(?: [\\x21-\\x7e]*(?: [HTP/1.0]{0,8}\\r?)?)?$`);
const responseStart = /^H?T?T?P?\/?1?\.?[01]?(?: .*)?$/;

/** `text` is everything before the empty line, one character for each byte. */
export function parseRequestHead(text: string): RequestHeadText | { readonly error: HeadError } {
  requestLine.lastIndex = 0;
  const start = requestLine.exec(text);
  if (start === null || !methods.has(start[1] as string)) return { error: "malformed" };
  const rawHeaders: string[] = [];
  const error = readHeaderLines(text, requestLine.lastIndex, rawHeaders);
  if (error !== undefined) return { error };
  return {
    method: start[1] as string,
    target: start[2] as string,
    minorVersion: start[3] === "1" ? 1 : 0,
    rawHeaders,
  };
}

/** `text` is everything before the empty line, one character for each byte. */
export function parseResponseHead(text: string): ResponseHeadText | { readonly error: HeadError } {
  statusLine.lastIndex = 0;
  const start = statusLine.exec(text);
  if (start === null) return { error: "malformed" };
  const rawHeaders: string[] = [];
  const error = readHeaderLines(text, statusLine.lastIndex, rawHeaders);
  if (error !== undefined) return { error };
  return { status: Number(start[2]), message: start[3] ?? "", minorVersion: start[1] === "1" ? 1 : 0, rawHeaders };
}

/** Whether the text is a valid list of header lines, such as the trailers after the last chunk. */
export function areHeaderLines(text: string): boolean {
  return readHeaderLines(text, 0, []) === undefined;
}

/** Whether an incomplete head can still become a valid request. */
export function mayBecomeRequest(text: string): boolean {
  const end = text.indexOf("\r\n");
  if (end < 0) return requestStart.test(text);
  requestLine.lastIndex = 0;
  return requestLine.test(text);
}

/** Whether an incomplete head can still become a valid response. */
export function mayBecomeResponse(text: string): boolean {
  return responseStart.test(text.slice(0, 9));
}

function readHeaderLines(text: string, from: number, into: string[]): HeadError | undefined {
  let at = from;
  while (at < text.length) {
    headerLine.lastIndex = at;
    const line = headerLine.exec(text);
    if (line === null) return "malformed";
    if (into.length >= maxHeaders * 2) return "many";
    into.push(line[1] as string, trimEnd(line[2] as string));
    at = headerLine.lastIndex;
  }
  return undefined;
}

function trimEnd(value: string): string {
  let end = value.length;
  while (end > 0 && isSpace(value.charCodeAt(end - 1))) end -= 1;
  return end === value.length ? value : value.slice(0, end);
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;
