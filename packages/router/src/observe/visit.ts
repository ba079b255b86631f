/** One request on its way through the router: what the log, the metrics and the traces tell about it. */
export interface Visit {
  readonly method: string;
  readonly path: string;
  readonly peer: string;
  readonly startedMs: number;
  requestId: string;
  userAgent: string | undefined;
  /** `-` until the request has reached a Sandbox that exists: callers must not invent values for labels. */
  namespace: string;
  sandbox: string | undefined;
  /** How the sandbox was named: by header, host or path. */
  by: string | undefined;
  status: number;
  reason: string | undefined;
  bytesOut: number;
}

/** A caller that hung up before there was an answer. */
export const callerGoneStatus = 499;

/** A log line must not be as long as a caller wants. */
const longestLogged = 1024;

export function clip(text: string): string {
  return text.length > longestLogged ? `${text.slice(0, longestLogged)}…` : text;
}

/** Without the query and without a user in the authority: both may hold secrets. */
export function pathOf(url: string): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  return clip(path.startsWith("/") ? path : path.replace(/^[^@]*@/, ""));
}

let counter = 0;
const processId = Math.random().toString(36).slice(2, 8).padEnd(6, "0");

/** Unique among routers, and cheap. */
export function nextRequestId(): string {
  counter = (counter + 1) % Number.MAX_SAFE_INTEGER;
  return `${processId}-${counter.toString(36)}`;
}

/** Taken from the caller when it can stand in a log. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : nextRequestId();
}
