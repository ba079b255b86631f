import type { ApiRequest } from "../request/api-request.ts";
import { applyType } from "../verbs/patch.ts";

/** What requests do, as kube-apiserver's metrics name it. */
export const requestVerbs = [
  "GET",
  "LIST",
  "WATCH",
  "POST",
  "PUT",
  "PATCH",
  "APPLY",
  "DELETE",
  "DELETECOLLECTION",
  "CONNECT",
] as const;
export type RequestVerb = (typeof requestVerbs)[number];

/** Where a request reaches: one object, a namespace, or everything. A creation is about one object, too. */
export const requestScopes = ["resource", "namespace", "cluster"] as const;
export type RequestScope = (typeof requestScopes)[number];

/** The part of a path that the two depend on. */
export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Parts of Pods and Services that lead on to somebody else. */
const connections = new Set(["attach", "exec", "portforward", "proxy"]);

type Asked = Pick<ApiRequest, "method" | "url" | "headers">;

export function verbOf({ method, url, headers }: Asked, { name, subresource }: Place): RequestVerb {
  if (subresource !== undefined && connections.has(subresource)) return "CONNECT";
  switch (method) {
    case "GET":
      if (name !== undefined) return "GET";
      return asksToWatch(url) ? "WATCH" : "LIST";
    case "PATCH":
      return headers["content-type"]?.startsWith(applyType) === true ? "APPLY" : "PATCH";
    case "DELETE":
      return name === undefined ? "DELETECOLLECTION" : "DELETE";
    default:
      return method;
  }
}

const asksToWatch = (url: string): boolean => /[?&]watch=(?!false\b|0\b)/i.test(url);

export function scopeOf({ method }: Pick<ApiRequest, "method">, { name, namespace }: Place): RequestScope {
  if (name !== undefined || method === "POST") return "resource";
  return namespace === undefined ? "cluster" : "namespace";
}

/** Asked of every write: most have a query, few this in it. */
export const isDryRun = (url: string): boolean => url.includes("dryRun=");
