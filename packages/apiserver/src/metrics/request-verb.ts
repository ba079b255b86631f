import type { ApiRequest } from "../request/api-request.ts";
import { applyType } from "../verbs/patch.ts";

/** The verbs in kube-apiserver's metrics. */
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

/** The scope of a request: one object (also for a create), a namespace, or the cluster. */
export const requestScopes = ["resource", "namespace", "cluster"] as const;
export type RequestScope = (typeof requestScopes)[number];

/** The parts of a path that verb and scope depend on. */
export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Subresources that connect to a Pod or Service. */
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

/** A cheap check, because it runs for every write. */
export const isDryRun = (url: string): boolean => url.includes("dryRun=");
