import type { Resource, Transport } from "@agent-sandbox/kube/requests";
import { CommandError } from "../command-error.ts";

/** A resource from the discovery document. */
export interface ServedResource extends Resource {
  readonly singular: string;
  readonly shortNames: readonly string[];
}

interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly singularName?: string;
    readonly shortNames?: readonly string[];
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

interface GroupList {
  readonly groups: readonly { readonly name: string; readonly preferredVersion: { readonly groupVersion: string } }[];
}

interface GroupDiscoveryList {
  readonly kind: "APIGroupDiscoveryList";
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly { readonly version: string; readonly resources?: readonly DiscoveredResource[] }[];
  }[];
}

interface DiscoveredResource {
  readonly resource: string;
  readonly responseKind?: { readonly kind: string };
  readonly scope: "Namespaced" | "Cluster";
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
}

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Lists all resources of the server, each at its preferred version: the core group first, then the other groups. */
export async function discover(transport: Transport): Promise<ServedResource[]> {
  const accept = `${aggregated},application/json`;
  const [core, groups] = (await Promise.all(["/api", "/apis"].map((path) => fetchJson(transport, path, accept)))) as [
    GroupDiscoveryList | object,
    GroupDiscoveryList | GroupList,
  ];
  if (isAggregated(core) && isAggregated(groups)) return [core, groups].flatMap(preferredOf);
  return discoverOneByOne(transport, groups as GroupList);
}

/** Servers before Kubernetes 1.30 have one discovery document per version. */
async function discoverOneByOne(transport: Transport, { groups }: GroupList): Promise<ServedResource[]> {
  const paths = ["/api/v1", ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const lists = await Promise.all(paths.map(async (path) => (await fetchJson(transport, path)) as ResourceList));
  return lists.flatMap(servedBy);
}

function isAggregated(list: object): list is GroupDiscoveryList {
  return "kind" in list && list.kind === "APIGroupDiscoveryList";
}

/** The first version of a group is its preferred version. */
function preferredOf({ items }: GroupDiscoveryList): ServedResource[] {
  return items.flatMap(({ metadata, versions: [preferred] }) =>
    (preferred?.resources ?? []).map((found) => ({
      apiVersion: metadata.name ? `${metadata.name}/${preferred?.version}` : (preferred?.version ?? ""),
      kind: found.responseKind?.kind ?? "",
      plural: found.resource,
      namespaced: found.scope === "Namespaced",
      singular: found.singularResource || (found.responseKind?.kind ?? "").toLowerCase(),
      shortNames: found.shortNames ?? [],
    })),
  );
}

/** The server does not serve a kind. */
export class UnservedKindError extends CommandError {
  constructor({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) {
    super(`the server doesn't have ${kind} in ${apiVersion}`);
  }
}

/** Finds the resource of a kind and version. Throws `UnservedKindError` if there is none. */
export async function resourceOfKind(
  transport: Transport,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): Promise<ServedResource> {
  const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { status, body } = await transport.send({ method: "GET", path, headers: { accept: "application/json" } });
  if (status !== 200 && status !== 404) throw refused(path, status, body);
  const found = status === 404 ? undefined : servedBy(body as ResourceList).find((one) => one.kind === kind);
  if (found === undefined) throw new UnservedKindError({ apiVersion, kind });
  return found;
}

function servedBy(list: ResourceList): ServedResource[] {
  return list.resources
    .filter(({ name }) => !name.includes("/"))
    .map(({ name, singularName, shortNames, kind, namespaced }) => ({
      apiVersion: list.groupVersion,
      kind,
      plural: name,
      namespaced,
      singular: singularName || kind.toLowerCase(),
      shortNames: shortNames ?? [],
    }));
}

/** Finds `word` as kubectl does: plural, singular, short name or kind, optionally with `.group`. */
export function resolveResource(word: string, served: readonly ServedResource[]): ServedResource {
  const found = findResource(word, served);
  if (found !== undefined) return found;
  throw new CommandError(
    `the server doesn't have a resource type "${word}": write sandboxes, sandboxclaims, sandboxtemplates, sandboxwarmpools, sandboxsnapshots, pods or another type that "kubectl api-resources" lists`,
  );
}

/** Like `resolveResource`; undefined if there is none. */
export function findResource(word: string, served: readonly ServedResource[]): ServedResource | undefined {
  const [name = "", ...rest] = word.toLowerCase().split(".");
  const group = rest.join(".");
  return served.find((resource) => {
    if (group && !groupOf(resource.apiVersion).startsWith(group)) return false;
    const names = [resource.plural, resource.singular, resource.kind.toLowerCase(), ...resource.shortNames];
    return names.includes(name);
  });
}

export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** `sandbox.agents.x-k8s.io/my-sandbox`: how kubectl names an object in its answers. */
export function displayName(
  { apiVersion, kind, singular = kind.toLowerCase() }: Resource & Partial<Pick<ServedResource, "singular">>,
  name: string,
): string {
  const group = groupOf(apiVersion);
  return `${singular}${group ? `.${group}` : ""}/${name}`;
}

export async function fetchJson(transport: Transport, path: string, accept = "application/json"): Promise<unknown> {
  const { status, body } = await transport.send({ method: "GET", path, headers: { accept } });
  if (status === 200) return body;
  throw refused(path, status, body);
}

/** The server refused a request. */
export class RefusedError extends CommandError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export function refused(path: string, status: number, body: unknown): RefusedError {
  const { message } = (body ?? {}) as { message?: string };
  return new RefusedError(message ?? `Cannot read "${path}": the server answered ${status}`, status);
}
