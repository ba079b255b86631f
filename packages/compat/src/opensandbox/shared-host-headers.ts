/** Each page gets an origin of its own: without it the pages of all sandboxes below this address would share storage and workers. */
const ownOrigin = [
  "content-security-policy",
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts",
];

/** What a sandbox may not decide for an address that it shares with others. The router removes the rest. */
const removed: ReadonlySet<string> = new Set(["clear-site-data", "service-worker-allowed"]);

/**
 * The headers of an answer of a sandbox that is reached by path. `rawHeaders` has names and values in turns. Cookies are limited to
 * the path.
 */
export function sharedHostHeaders(rawHeaders: readonly string[], path: string): string[] {
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    const lower = name.toLowerCase();
    if (!removed.has(lower)) kept.push(name, lower === "set-cookie" ? limitedCookie(value, path) : value);
  }
  return [...kept, ...ownOrigin];
}

function limitedCookie(value: string, path: string): string {
  const [pair = "", ...attributes] = value.split(";");
  const others = attributes.filter((attribute) => !/^\s*(?:path|domain)\s*(?:=|$)/i.test(attribute));
  return [pair, ...others, ` Path=${path}`].join(";");
}
