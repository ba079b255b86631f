/** A parsed URL path, independent of which resources exist. */
export type RequestPath =
  | { readonly kind: "other"; readonly path: string }
  | { readonly kind: "core-versions" }
  | { readonly kind: "groups" }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "resources"; readonly apiVersion: string }
  | ResourcePath;

export interface ResourcePath {
  readonly kind: "resource";
  readonly apiVersion: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** The subresources of a Namespace. Any other segment in that position is a resource inside the namespace. */
const namespaceSubresources = new Set(["status", "finalize"]);

/**
 * Splits a path without resolving it. Returns `undefined` if a segment is empty, is `.` or `..`, or decodes to text with a
 * slash or a control character.
 */
export function parsePath(path: string): RequestPath | undefined {
  const segments = splitPath(path);
  if (segments === undefined) return undefined;
  const [root, ...rest] = segments;
  if (root === "api") {
    if (rest.length === 0) return { kind: "core-versions" };
    return parseVersioned(rest[0] as string, rest.slice(1));
  }
  if (root === "apis") {
    const [group, version, ...more] = rest;
    if (group === undefined) return { kind: "groups" };
    if (version === undefined) return { kind: "group", group };
    return parseVersioned(`${group}/${version}`, more);
  }
  return { kind: "other", path: `/${segments.join("/")}` };
}

function splitPath(path: string): string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  const trimmed = path.endsWith("/") ? path.slice(1, -1) : path.slice(1);
  if (trimmed === "") return [];
  const segments: string[] = [];
  for (const raw of trimmed.split("/")) {
    const segment = decodeSegment(raw);
    if (segment === undefined) return undefined;
    segments.push(segment);
  }
  return segments;
}

/** Most segments need no decoding. */
const plain = /^[A-Za-z0-9._-]+$/;

function decodeSegment(raw: string): string | undefined {
  if (plain.test(raw)) return raw === "." || raw === ".." ? undefined : raw;
  try {
    const segment = decodeURIComponent(raw);
    const names = segment !== "" && segment !== "." && segment !== ".." && !/[/\\%\p{Cc}]/u.test(segment);
    return names ? segment : undefined;
  } catch {
    return undefined;
  }
}

function parseVersioned(apiVersion: string, segments: readonly string[]): RequestPath | undefined {
  if (segments.length === 0) return { kind: "resources", apiVersion };
  const [first, second, third] = segments as [string, string?, string?];
  const inNamespace =
    first === "namespaces" && second !== undefined && third !== undefined && !namespaceSubresources.has(third);
  if (!inNamespace) return parseResource(apiVersion, undefined, segments);
  return parseResource(apiVersion, second, segments.slice(2));
}

function parseResource(
  apiVersion: string,
  namespace: string | undefined,
  segments: readonly string[],
): ResourcePath | undefined {
  // A proxied request may have any path after `proxy`.
  if (segments.length > 3 && segments[2] !== "proxy") return undefined;
  const [plural, name, subresource] = segments as [string, string?, string?];
  return {
    kind: "resource",
    apiVersion,
    plural,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}
