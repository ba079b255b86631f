import { spend, weightOf } from "../budget.ts";
import { parseIp } from "./ip.ts";
import type { Library } from "./library.ts";

/** The parts of a URL as Go parses them. JavaScript's parser follows browsers and repairs URLs that Go refuses. */
export class Url {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(scheme: string, host: string, path: string, query: string) {
    this.scheme = scheme;
    this.host = host;
    this.path = path;
    this.query = query;
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host)?.[1] ?? "";
  }

  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  }

  equals(other: unknown): boolean {
    if (!(other instanceof Url)) return false;
    return (["scheme", "host", "path", "query"] as const).every((part) => other[part] === this[part]);
  }
}

// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f]/;
const badEscape = /%(?![0-9a-fA-F]{2})/;

/** Accepts absolute URLs and absolute paths only. */
function parseUrl(text: string): Url | undefined {
  spend(4 * weightOf(text));
  if (text === "" || control.test(text) || text.startsWith(":")) return undefined;
  if (text === "*") return new Url("", "", "*", "");
  const [, scheme = "", rest = text] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(.*)$/s.exec(text) ?? [];
  const beforeFragment = rest.replace(/#.*$/s, "");
  const [beforeQuery = ""] = beforeFragment.split("?", 1);
  const query = beforeFragment.slice(beforeQuery.length + 1);
  if (!beforeQuery.startsWith("/")) return scheme === "" ? undefined : new Url(scheme.toLowerCase(), "", "", query);
  const [, authority, path = beforeQuery] = (scheme === "" ? undefined : /^\/\/([^/]*)(.*)$/s.exec(beforeQuery)) ?? [];
  if (badEscape.test(path)) return undefined;
  if (authority === undefined) return new Url(scheme.toLowerCase(), "", path, query);
  const host = hostOf(authority, scheme.toLowerCase());
  return host === undefined ? undefined : new Url(scheme.toLowerCase(), host, path, query);
}

function hostOf(authority: string, scheme: string): string | undefined {
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(0, at));
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || badEscape.test(user)) return undefined;
  const host = authority.slice(at + 1);
  if (host.includes("[")) return bracketed(host);
  const colons = host.split(":").length - 1;
  const strict = scheme === "http" || scheme === "https";
  if (colons > 1 && strict) return undefined;
  if (colons > 0 && !/:\d*$/.test(host)) return undefined;
  return plainHost(host);
}

function bracketed(host: string): string | undefined {
  const [, address = "", zone, port] = /^\[([^\]%]*)(?:%25([^\]]+))?\](:\d*)?$/.exec(host) ?? [];
  const ip = parseIp(address) ?? parseIp(address.replace(/^::ffff:/i, "::1:"));
  if (ip?.family !== 6) return undefined;
  return `[${address}${zone === undefined ? "" : `%${zone}`}]${port ?? ""}`;
}

/** Decodes a host. Escapes are allowed only for non-ASCII characters, and few special characters are allowed. */
function plainHost(host: string): string | undefined {
  if (!/^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"\u0080-\uffff]|%25|%[89a-fA-F][0-9a-fA-F])*$/.test(host)) return undefined;
  return unescaped(host);
}

function unescaped(text: string): string | undefined {
  if (badEscape.test(text)) return undefined;
  const bytes = Buffer.from(
    text.replaceAll(/%([0-9a-fA-F]{2})|([^%]+)/g, (_, hex?: string, plain?: string) =>
      hex === undefined ? Buffer.from(plain ?? "").toString("hex") : hex,
    ),
    "hex",
  );
  return bytes.toString();
}

/** The path as written if it is validly escaped, otherwise escaped. */
function escapedPath(path: string): string {
  if (/^[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]%]*$/.test(path)) return path;
  const plain = unescaped(path) ?? path;
  return Array.from(plain, (character) =>
    /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(character) ? character : encoded(character),
  ).join("");
}

const encoded = (character: string): string =>
  Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");

function queryOf({ query }: Url): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const [name = ""] = pair.split("=", 1);
    const [key, value] = [name, pair.slice(name.length + 1)].map((part) => unescaped(part.replaceAll("+", " ")));
    if (key === undefined || value === undefined) continue;
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return values;
}

export function isUrl(text: string): boolean {
  return parseUrl(text) !== undefined;
}

function toUrl(text: string): Url {
  const found = parseUrl(text);
  if (found === undefined) throw new Error("URL parse error during conversion from string: invalid URI for request");
  return found;
}

export const urls: Library = {
  types: { "kubernetes.URL": Url },
  equals: { "kubernetes.URL": (a: Url, b: Url) => a.equals(b) },
  functions: {
    "url(string): kubernetes.URL": toUrl,
    "isURL(string): bool": isUrl,
    "kubernetes.URL.getScheme(): string": ({ scheme }: Url) => scheme,
    "kubernetes.URL.getHost(): string": ({ host }: Url) => host,
    "kubernetes.URL.getHostname(): string": ({ hostname }: Url) => hostname,
    "kubernetes.URL.getPort(): string": ({ port }: Url) => port,
    "kubernetes.URL.getEscapedPath(): string": ({ path }: Url) => escapedPath(path),
    "kubernetes.URL.getQuery(): map<string, list<string>>": queryOf,
  },
};
