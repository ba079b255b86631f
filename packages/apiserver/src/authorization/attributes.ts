import { Query } from "../request/query.ts";
import { parsePath, type ResourcePath } from "../request/request-path.ts";
import { parseFieldSelector } from "../selectors/field-selector.ts";

/** The action of a request in the terms of RBAC rules. An empty string means "none". */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly kind: "resource";
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

export interface PathAttributes {
  readonly kind: "path";
  readonly verb: string;
  readonly path: string;
}

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/**
 * Parses a request in the same way as the request handler, so that the action that is authorized is the one that is performed.
 * A path that is not a resource is authorized as a path.
 */
export function attributesOf({ method, url }: { readonly method: string; readonly url: string }): Attributes {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const parsed = parsePath(path);
  if (parsed?.kind !== "resource") return { kind: "path", verb: method.toLowerCase(), path: plain(path) };
  return resourceAttributes(method, parsed, mark < 0 ? "" : url.slice(mark + 1));
}

/** The request handler ignores one trailing slash. */
function plain(path: string): string {
  const trimmed = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  try {
    return decodeURIComponent(trimmed);
  } catch {
    return trimmed;
  }
}

function resourceAttributes(method: string, path: ResourcePath, search: string): ResourceAttributes {
  const slash = path.apiVersion.indexOf("/");
  const { plural: resource, name = "", subresource = "" } = path;
  const known = {
    kind: "resource",
    group: slash < 0 ? "" : path.apiVersion.slice(0, slash),
    version: path.apiVersion.slice(slash + 1),
    // A Namespace counts as being in itself, so that a Role in it can allow reading it.
    namespace: path.namespace ?? (resource === "namespaces" ? name : ""),
    resource,
    subresource,
  } as const;
  const verb = verbs[method] ?? method.toLowerCase();
  if (name !== "") return { ...known, verb, name };
  if (verb === "get") return { ...known, ...collectionRead(new Query(search)) };
  return { ...known, verb: verb === "delete" ? "deletecollection" : verb, name };
}

/** A list or watch with a field selector for one name can be allowed by `resourceNames`. */
function collectionRead(query: Query): { verb: string; name: string } {
  const [watch, ...others] = query.all("watch");
  const watching = others.length > 0 || (watch !== undefined && watch !== "false" && watch !== "0");
  const [selector = "", ...more] = query.all("fieldSelector");
  const parsed = parseFieldSelector(selector);
  const exact = "selector" in parsed && more.length === 0 ? parsed.selector.exact("metadata.name") : undefined;
  const name = exact !== undefined && !/[/%]|^\.{1,2}$/.test(exact) ? exact : "";
  return { verb: watching ? "watch" : "list", name };
}
