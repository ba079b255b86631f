import { setsSession } from "../auth/session-cookie.ts";
import { hopByHop } from "../http1/hop-by-hop.ts";
import { tokens } from "../http1/transport-headers.ts";

const dropped: ReadonlySet<string> = new Set(hopByHop);

/** Nearly all headers are none of those that matter: their length tells that before anything is compared. */
const ownLengths: ReadonlySet<number> = new Set([...dropped, "set-cookie"].map(({ length }) => length));

export interface ResponseHeadOptions {
  /** An answer that switches protocols keeps the two headers that say so. */
  readonly isUpgrade?: boolean;
}

/** The headers of a sandbox's answer that go to the caller, names and values in turn, as the sandbox wrote them. */
export function responseHead(raw: readonly string[], { isUpgrade = false }: ResponseHeadOptions = {}): string[] {
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
    if (lower === "set-cookie" && setsSession(value)) continue;
    pass.push(name, value);
  }
  return named === undefined || isUpgrade ? pass : withoutNamed(pass, named);
}

/** The same as an object, for HTTP/2: names are in lower case and a repeated header is a list. */
export function forHttp2(flat: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (let index = 0; index < flat.length; index += 2) {
    const name = (flat[index] as string).toLowerCase();
    const value = flat[index + 1] as string;
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}

/** The length belongs to the message whatever `Connection` says: without it the answer would have no end. */
const keptAlways: ReadonlySet<string> = new Set(["close", "keep-alive", "content-length"]);

function withoutNamed(pass: string[], named: readonly string[]): string[] {
  const dropped = new Set(named.filter((token) => !keptAlways.has(token)));
  if (dropped.size === 0) return pass;
  return pass.filter((_, index) => !dropped.has((pass[index - (index % 2)] as string).toLowerCase()));
}
