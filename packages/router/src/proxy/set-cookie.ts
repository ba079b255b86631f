import { resemblesSession, trimCookie } from "../auth/session-cookie.ts";

/**
 * A sandbox's `Set-Cookie` as it goes to the caller; undefined when it does not. A sandbox sets cookies for itself alone: for
 * no `Domain`, which would be its neighbours' too, and never a session of the router's. Where sandboxes share one host name,
 * `prefix` is the path of this one, and its cookies are for what is below it.
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

/** The name under which the cookie comes back. One without a name comes back as its value alone, which may look like a pair. */
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

/** The last `Path` counts, if it is a path; `/` is all of the sandbox. */
function ownPath(attributes: readonly string[]): string {
  const last = attributes.findLast((attribute) => attributeName(attribute) === "path") ?? "";
  const path = trimCookie(last.slice(last.indexOf("=") + 1));
  return path.startsWith("/") && path !== "/" ? path : "";
}
