import { hopByHop } from "../http1/hop-by-hop.ts";
import { tokens } from "../http1/transport-headers.ts";
import { reasonHeader } from "../request/send-error.ts";
import type { Route } from "../route/route.ts";
import { epochHeader, epochHeaders } from "./epoch-header.ts";
import { sharedHostHeaders, siteHeader, siteHeaders } from "./site-headers.ts";

/** The last two come from the router only: clients repeat a request because of a reason. */
const dropped: ReadonlySet<string> = new Set([...hopByHop, epochHeader, reasonHeader]);
const judged: ReadonlySet<string> = new Set(siteHeaders);

/** Most headers can be relayed as they are. Comparing the length of the name first finds them quickly. */
const ownLengths: ReadonlySet<number> = new Set([...dropped, ...judged].map(({ length }) => length));

/** Where a response comes from. */
export interface ResponseOrigin {
  /** Which headers a sandbox may set depends on whether it has a host name of its own. */
  readonly route: Route;
  /** Sent to the client in a header; undefined: none. */
  readonly epoch: number | undefined;
}

export interface ResponseHeadOptions extends ResponseOrigin {
  /** Keeps `Connection` and `Upgrade`, for a 101 response. */
  readonly isUpgrade?: boolean;
}

/** The headers of a sandbox's response that are relayed to the client. Names and values alternate. */
export function responseHead(
  raw: readonly string[],
  { route, epoch, isUpgrade = false }: ResponseHeadOptions,
): string[] {
  const pass: string[] = [];
  let named: string[] | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const value = raw[index + 1] as string;
    if (!ownLengths.has(name.length)) {
      pass.push(name, value);
      continue;
    }
    const lower = name.toLowerCase();
    if (lower === "connection") named = [...(named ?? []), ...tokens(value)];
    const isSwitch = isUpgrade && (lower === "connection" || lower === "upgrade");
    if (dropped.has(lower) && !isSwitch) continue;
    const kept = judged.has(lower) ? siteHeader(lower, value, route) : value;
    if (kept !== undefined) pass.push(name, kept);
  }
  const own = named === undefined || isUpgrade ? pass : withoutNamed(pass, named);
  if (route.by === "path" && !isUpgrade) own.push(...sharedHostHeaders);
  if (epoch !== undefined) own.push(...epochHeaders(epoch));
  return own;
}

/** Headers as an object for HTTP/2, with names in lower case and repeated headers as lists. */
export function forHttp2(flat: readonly string[]): Record<string, string | string[]> {
  // A header may have the name `constructor`, so the object has no prototype.
  const headers = Object.create(null) as Record<string, string | string[]>;
  for (let index = 0; index < flat.length; index += 2) {
    const name = (flat[index] as string).toLowerCase();
    const value = flat[index + 1] as string;
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}

/** `Connection` may not remove the length, which the end of the response depends on. */
const keptAlways: ReadonlySet<string> = new Set(["close", "keep-alive", "content-length"]);

function withoutNamed(pass: string[], named: readonly string[]): string[] {
  const dropped = new Set(named.filter((token) => !keptAlways.has(token)));
  if (dropped.size === 0) return pass;
  return pass.filter((_, index) => !dropped.has((pass[index - (index % 2)] as string).toLowerCase()));
}
