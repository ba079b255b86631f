import { KubeError } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";

export interface Target {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** For example `/api/v1/namespaces/ns/pods/name/status`. Rejects parts that would address another object. */
export function resourcePath<T extends KubeObject>(resource: Resource<T>, target: Target): string {
  const { apiVersion, plural, namespaced } = resource;
  const parts = [apiVersion.includes("/") ? "/apis" : "/api", apiVersion];
  if (target.namespace !== undefined) {
    if (!namespaced) throw refusal(resource, `it has no namespace, "${target.namespace}" was given`);
    parts.push("namespaces", segment(resource, target.namespace));
  } else if (namespaced && target.name !== undefined) {
    throw refusal(resource, `"${target.name}" was named without a namespace`);
  }
  parts.push(plural);
  if (target.name !== undefined) parts.push(segment(resource, target.name));
  if (target.subresource !== undefined) {
    if (target.name === undefined) throw refusal(resource, `"${target.subresource}" was asked for without a name`);
    parts.push(...target.subresource.split("/").map((part) => segment(resource, part)));
  }
  return parts.join("/");
}

/** A path with a query. Undefined and empty parameters are omitted. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const parts = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return parts.length === 0 ? path : `${path}?${parts.join("&")}`;
}

function segment<T extends KubeObject>(resource: Resource<T>, text: string): string {
  if (text === "" || text === "." || text === ".." || text.includes("/") || text.includes("%")) {
    throw refusal(resource, `"${text}" is not a valid name`);
  }
  return encodeURIComponent(text);
}

function refusal<T extends KubeObject>(resource: Resource<T>, state: string): KubeError {
  return new KubeError("BadRequest", `Cannot address ${resource.plural}.${resource.apiVersion}: ${state}`);
}
