/** What the access log, the metrics and the traces report about one request. */
export interface AccessRecord {
  readonly method: string;
  readonly path: string;
  readonly peer: string;
  readonly startedMs: number;
  requestId: string;
  userAgent: string | undefined;
  /** `-` unless the Sandbox exists, so that clients cannot create metric labels. */
  namespace: string;
  sandbox: string | undefined;
  /** How the request named the sandbox: `header`, `host` or `path`. */
  by: string | undefined;
  status: number;
  reason: string | undefined;
  bytesOut: number;
}

/** The client disconnected before the response began. */
export const clientDisconnectedStatus = 499;

/** Limits the length of log lines, since clients choose these texts. */
const maxLogged = 1024;

export function clip(text: string): string {
  return text.length > maxLogged ? `${text.slice(0, maxLogged)}…` : text;
}

/** The path for the log, without query and user info, which may contain secrets. */
export function pathOf(url: string): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  return clip(path.startsWith("/") ? path : path.replace(/^[^@]*@/, ""));
}

let counter = 0;
const processId = Math.random().toString(36).slice(2, 8).padEnd(6, "0");

/** Unique among routers. */
export function nextRequestId(): string {
  counter = (counter + 1) % Number.MAX_SAFE_INTEGER;
  return `${processId}-${counter.toString(36)}`;
}

/** The client's request id if it is printable and short, otherwise a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : nextRequestId();
}
