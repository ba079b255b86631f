import { sessionCookieOf, sessionName, trimCookie } from "../auth/session-cookie.ts";
import { hopByHop } from "../http1/hop-by-hop.ts";
import { tokens } from "../http1/transport-headers.ts";
import type { RouteHeaders } from "../route/find-route.ts";

/** The headers that the router uses, and those that it forwards to the sandbox. */
export interface RequestHead {
  readonly host: string | undefined;
  readonly route: RouteHeaders;
  /** `X-Sandbox-Timeout`, in seconds, not parsed. */
  readonly timeout: string | undefined;
  readonly authorization: string | undefined;
  /** `X-Sandbox-Authorization`: the credential for the router if `Authorization` is meant for the sandbox. */
  readonly ownAuthorization: string | undefined;
  readonly proxyAuthorization: string | undefined;
  readonly forwardAuthorization: boolean;
  /** The session cookies. There are several if one was set for the whole domain. */
  readonly sessions: readonly SessionValue[];
  readonly origin: string | undefined;
  /** `Access-Control-Request-Method`, which marks a preflight request. */
  readonly requestedMethod: string | undefined;
  readonly fetchSite: string | undefined;
  readonly fetchMode: string | undefined;
  readonly fetchDest: string | undefined;
  readonly requestId: string | undefined;
  readonly userAgent: string | undefined;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
  readonly hasBody: boolean;
  /** The headers to forward, names and values alternating. Without hop-by-hop headers, length, and those the router sets. */
  readonly pass: string[];
  readonly bytes: number;
}

export interface SessionValue {
  /** Whether it has the prefix `__Host-`, so that only HTTPS responses of this host can have set it. */
  readonly isHostOnly: boolean;
  readonly value: string;
}

type Singles = Record<Single, string | undefined>;

interface Reading extends Singles {
  sessions: SessionValue[];
  sawHost: boolean;
  connection: string[];
  hasChunks: boolean;
  pass: string[];
  bytes: number;
  repeated: string | undefined;
}

/** Headers that may occur only once. With two of them, different parsers could understand different requests. */
const singles = {
  host: "host",
  ":authority": "host",
  "x-sandbox-id": "id",
  "x-sandbox-namespace": "namespace",
  "x-sandbox-port": "port",
  "x-sandbox-pod-ip": "podIp",
  "x-sandbox-uid": "uid",
  "x-sandbox-timeout": "timeout",
  "x-sandbox-authorization": "ownAuthorization",
  "x-sandbox-forward-authorization": "forwardAuthorization",
  authorization: "authorization",
  "proxy-authorization": "proxyAuthorization",
  origin: "origin",
  "access-control-request-method": "requestedMethod",
  "sec-fetch-site": "fetchSite",
  "sec-fetch-mode": "fetchMode",
  "sec-fetch-dest": "fetchDest",
  "x-request-id": "requestId",
  "user-agent": "userAgent",
  "content-type": "contentType",
  "content-length": "contentLength",
} as const;

type Single = (typeof singles)[keyof typeof singles];

/** All properties exist from the start, because V8 is faster with objects of one shape. */
const noSingles = Object.fromEntries(Object.values(singles).map((name) => [name, undefined])) as Singles;

const singleByName: ReadonlyMap<string, Single> = new Map(Object.entries(singles));

/** Used by the router and forwarded too. */
const passedOn: ReadonlySet<string> = new Set([
  "origin",
  "access-control-request-method",
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest",
  "x-request-id",
  "user-agent",
  "content-type",
]);

/** Headers that are not forwarded: hop-by-hop headers and those that only the router may set. */
const dropped: ReadonlySet<string> = new Set([...hopByHop, "expect", "forwarded", "x-real-ip"]);

/** Headers with these prefixes are set by the router and never forwarded from clients. */
const ownPrefixes: readonly string[] = ["x-sandbox-", "x-forwarded-"];

/** Reads the headers in one pass. `rawHeaders` has alternating names and values. */
export function readHead(rawHeaders: readonly string[]): RequestHead | { readonly error: string } {
  const reading: Reading = {
    ...noSingles,
    sessions: [],
    sawHost: false,
    connection: [],
    hasChunks: false,
    pass: [],
    bytes: 0,
    repeated: undefined,
  };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    readHeader(reading, rawHeaders[index] as string, rawHeaders[index + 1] as string);
  }
  if (reading.repeated !== undefined) return { error: `Header ${reading.repeated} is there more than once.` };
  return headOf(reading);
}

/** How a header is treated. */
interface Kind {
  readonly lower: string;
  readonly single: Single | undefined;
  /** Forwarded unchanged. */
  readonly isPassed: boolean;
  /** Needs further parsing. */
  readonly isSpecial: boolean;
}

/** A cache by the spelling of the name. Its size is limited because clients choose the names. */
const kinds = new Map<string, Kind>();
const maxKinds = 1000;
const maxCachedName = 64;

const special: ReadonlySet<string> = new Set(["connection", "transfer-encoding", "cookie"]);

function kindOf(name: string): Kind {
  const known = kinds.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const single = singleByName.get(lower);
  const isFree = single === undefined && !special.has(lower) && !dropped.has(lower) && !isOurs(lower);
  const kind = { lower, single, isPassed: isFree || passedOn.has(lower), isSpecial: special.has(lower) };
  if (kinds.size < maxKinds && name.length <= maxCachedName) kinds.set(name, kind);
  return kind;
}

function readHeader(reading: Reading, name: string, value: string): void {
  reading.bytes += name.length + value.length + 4;
  const { lower, single, isPassed, isSpecial } = kindOf(name);
  if (isPassed) reading.pass.push(name, value);
  if (single !== undefined) readSingle(reading, { single, lower, value });
  else if (isSpecial) readSpecial(reading, name, { lower, value });
}

function readSingle(
  reading: Reading,
  { single, lower, value }: { single: Single; lower: string; value: string },
): void {
  // RFC 9112, 3.2: a second Host header is an error even if it has the same value.
  const isSecondHost = lower === "host" && reading.sawHost;
  if (isSecondHost || (reading[single] !== undefined && reading[single] !== value)) reading.repeated ??= lower;
  if (lower === "host") reading.sawHost = true;
  reading[single] = value;
}

function readSpecial(reading: Reading, name: string, { lower, value }: { lower: string; value: string }): void {
  if (lower === "connection") reading.connection.push(...tokens(value));
  else if (lower === "transfer-encoding") reading.hasChunks = true;
  else readCookies(reading, name, value);
}

/**
 * Whether only the router may set the header. CGI-like servers treat `X_Sandbox_Token` as `X-Sandbox-Token`, so underscores
 * count as hyphens. Pseudo-headers of HTTP/2 are not forwarded either.
 */
function isOurs(lower: string): boolean {
  const first = lower.charCodeAt(0);
  if (first === 0x3a) return true;
  if (first !== 0x78) return false;
  const dashed = lower.replaceAll("_", "-");
  return ownPrefixes.some((prefix) => dashed.startsWith(prefix)) || dropped.has(dashed);
}

/** Session cookies are credentials for the router and are not forwarded. */
function readCookies(reading: Reading, name: string, value: string): void {
  if (!value.includes(sessionName)) {
    reading.pass.push(name, value);
    return;
  }
  const kept: string[] = [];
  for (const pair of value.split(";")) {
    const [key = "", ...rest] = pair.split("=");
    const session = sessionCookieOf(trimCookie(key));
    if (session === undefined) kept.push(trimCookie(pair));
    else reading.sessions.push({ ...session, value: trimCookie(rest.join("=")) });
  }
  if (kept.length > 0) reading.pass.push(name, kept.join("; "));
}

function headOf(reading: Reading): RequestHead {
  const { id, namespace, port, podIp, uid, connection, hasChunks, contentLength, forwardAuthorization } = reading;
  const named = connection.filter((token) => token !== "keep-alive" && token !== "close" && token !== "upgrade");
  return {
    host: reading.host,
    route: { id, namespace, port, podIp, uid },
    timeout: reading.timeout,
    authorization: reading.authorization,
    ownAuthorization: reading.ownAuthorization,
    proxyAuthorization: reading.proxyAuthorization,
    forwardAuthorization: forwardAuthorization?.toLowerCase() === "true",
    sessions: reading.sessions,
    origin: reading.origin,
    requestedMethod: reading.requestedMethod,
    fetchSite: reading.fetchSite,
    fetchMode: reading.fetchMode,
    fetchDest: reading.fetchDest,
    requestId: reading.requestId,
    userAgent: reading.userAgent,
    contentType: reading.contentType,
    contentLength,
    hasBody: hasChunks || (contentLength !== undefined && !/^0*$/.test(contentLength)),
    pass: named.length === 0 ? reading.pass : without(reading.pass, new Set(named)),
    bytes: reading.bytes,
  };
}

function without(pairs: readonly string[], names: ReadonlySet<string>): string[] {
  return pairs.filter((_, index) => !names.has((pairs[index - (index % 2)] as string).toLowerCase()));
}
