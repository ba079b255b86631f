import { resemblesSession, trimCookie } from "../auth/session-cookie.ts";

/**
 * A sandbox's `Set-Cookie` header as it is relayed, or undefined if it is dropped. A sandbox may only set cookies for
 * itself: `Domain` is removed because other sandboxes share the domain, and the router's session cookies are dropped.
 * `prefix` is the sandbox's path if it shares its host name with others; the cookie is restricted to that path then.
 */
export function keptCookie(value: string, prefix?: string): string | undefined {
  const [pair = "", ...attributes] = value.split(";");
  if (resemblesSession(sentName(pair))) return undefined;
  const isKept = (attribute: string): boolean => {
    const name = attributeName(attribute);
    return name !== "domain" && (prefix === undefined || name !== "path");
  };
  const kept = attributes.filter(isKept);
  if (prefix !== undefined) kept.push(` Path=${prefix}${ownPath(attributes)}`);
  return kept.length === attributes.length && prefix === undefined ? value : [pair, ...kept].join(";");
}

/** The name under which the browser sends the cookie back. A cookie without a name is sent as its value, which may look like a pair. */
function sentName(pair: string): string {
  const [name = "", ...rest] = pair.split("=");
  if (rest.length === 0) return trimCookie(pair);
  const trimmed = trimCookie(name);
  return trimmed === "" ? sentName(rest.join("=")) : trimmed;
}

function attributeName(attribute: string): string {
  const [name = ""] = attribute.split("=", 1);
  return trimCookie(name).toLowerCase();
}

/** The last `Path` attribute if it is a path below `/`, otherwise an empty string. */
function ownPath(attributes: readonly string[]): string {
  const last = attributes.findLast((attribute) => attributeName(attribute) === "path") ?? "";
  const path = trimCookie(last.slice(last.indexOf("=") + 1));
  return path.startsWith("/") && path !== "/" ? path : "";
}
