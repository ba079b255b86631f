import { KubeError } from "../errors.ts";
import { keyOf, type ObjectKey, type Resource } from "../resource.ts";
import type { Method, TransportRequest } from "../transport.ts";

/** A kind that the server serves. */
export interface ServedResource extends Resource {
  /** Whether `status` is a subresource. */
  readonly status?: boolean;
  /** Whether a delete only marks the object, like a Pod, until it is deleted with grace period 0. */
  readonly graceful?: boolean;
}

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** A parsed request. */
export interface ApiCall {
  readonly verb: Verb;
  readonly resource: ServedResource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
  readonly contentType: string | undefined;
  readonly body: unknown;
}

const verbByMethod: Readonly<Record<Method, Verb>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** `/api/v1/...` or `/apis/group/version/...`, then `[namespaces/ns/]plural[/name[/subresource]]`. */
const pathPattern =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>.+))?)?$/;

export function parseCall(request: TransportRequest, resources: readonly ServedResource[]): ApiCall {
  const url = new URL(request.path, "http://memory");
  const parts = parsePath(url.pathname);
  const apiVersion = parts["group"] === undefined ? parts["version"] : `${parts["group"]}/${parts["version"]}`;
  const resource = resources.find((known) => known.apiVersion === apiVersion && known.plural === parts["plural"]);
  if (resource === undefined) throw new KubeError("NotFound", `the server does not serve "${url.pathname}"`);
  const { namespace, name, subresource } = parts;
  const verb =
    request.method === "GET" && name === undefined ? listVerb(url.searchParams) : verbByMethod[request.method];
  const contentType = request.headers?.["content-type"];
  return { verb, resource, namespace, name, subresource, query: url.searchParams, contentType, body: request.body };
}

/** The name under which calls are counted, such as `patch sandboxes/status`. */
export function describeCall({ verb, resource, subresource }: ApiCall): string {
  return subresource === undefined ? `${verb} ${resource.plural}` : `${verb} ${resource.plural}/${subresource}`;
}

export function isWrite({ verb }: ApiCall): boolean {
  return verb !== "get" && verb !== "list" && verb !== "watch";
}

export function targetOf({ resource, namespace, name }: ApiCall): string {
  if (name === undefined) throw new KubeError("MethodNotAllowed", `${resource.plural} can only be changed by name`);
  const key: ObjectKey = namespace === undefined ? { name } : { namespace, name };
  return keyOf(key);
}

/** `/api/v1/namespaces/ns` is the Namespace itself, not a list in it. */
function parsePath(path: string): Readonly<Record<string, string | undefined>> {
  const direct =
    /^\/api\/(?<version>v1)\/(?<plural>namespaces)(?:\/(?<name>[^/]+)(?:\/(?<subresource>status|finalize))?)?$/;
  const groups = (direct.exec(path) ?? pathPattern.exec(path))?.groups;
  if (groups === undefined) throw new KubeError("NotFound", `the server does not know the path "${path}"`);
  return Object.fromEntries(Object.entries(groups).map(([part, text]) => [part, text && decodeURIComponent(text)]));
}

function listVerb(query: URLSearchParams): Verb {
  return query.get("watch") === "true" || query.get("watch") === "1" ? "watch" : "list";
}
