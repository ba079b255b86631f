import { dataDirFrom } from "../box/box-paths.ts";
import type { CompletionPlace } from "./completion-place.ts";
import { type Connection, connect } from "./connect.ts";
import { fetchJson, type ServedResource } from "./discovery.ts";
import { knownResources, withResources } from "./known-resources.ts";

export interface Candidate {
  readonly text: string;
  readonly description: string;
}

/** Fixed texts, or names that the server or the box knows. */
export type Names = readonly string[] | NameKind;

type NameKind =
  | "sandboxes"
  | "pools"
  | "sources"
  | "snapshots"
  | "namespaces"
  | "runtimes"
  | "types"
  | "objectsOfType"
  | "objects"
  | "copies"
  | "images";

type Source = (place: CompletionPlace) => Promise<readonly Candidate[]>;

const sources: Readonly<Record<NameKind, Source>> = {
  sandboxes: (place) => named(place, "sandboxes", "sandboxclaims"),
  pools: (place) => named(place, "sandboxwarmpools"),
  sources: (place) => named(place, "sandboxwarmpools", "sandboxtemplates"),
  snapshots: (place) => named(place, "sandboxsnapshots"),
  namespaces: (place) => named(place, "namespaces"),
  runtimes: (place) => named(place, "runtimeclasses"),
  types: async () => knownResources.map(({ plural, kind }) => ({ text: plural, description: kind })),
  /** `get sandboxes web` */
  objectsOfType: (place) => named(place, place.before[0] ?? ""),
  /** `sandbox/web`, or names after a type. */
  objects: async (place) => {
    const [type] = place.before;
    if (type !== undefined && !type.includes("/")) return named(place, type);
    const found = await listed(place, ["sandboxes", "sandboxclaims", "sandboxtemplates", "sandboxwarmpools"]);
    return found.map(({ resource, name }) => ({ text: `${resource.singular}/${name}`, description: resource.kind }));
  },
  /** One side of a copy is `SANDBOX:PATH`. The other one is a file. */
  copies: async (place) =>
    place.before.some((word) => word.includes(":"))
      ? []
      : (await named(place, "sandboxes", "sandboxclaims")).map(({ text, ...rest }) => ({ ...rest, text: `${text}:` })),
  images: async ({ connection }) => {
    const { builtInImages, openNodeImages } = await import("@agent-sandbox/node");
    const store = await openNodeImages({ dataDir: dataDirFrom(connection.dataDir, process.env) });
    const names = (await store.list()).flatMap((image) => image.names);
    return [...builtInImages, ...names.filter(isPlain)].map((text) => ({ text, description: "image" }));
  },
};

/** The candidates of a kind. None if they cannot be read: a completion prints no errors. */
export async function namesOf(names: Names, place: CompletionPlace): Promise<readonly Candidate[]> {
  if (typeof names !== "string") return names.map((text) => ({ text, description: "" }));
  return sources[names](place).catch(() => []);
}

async function named(place: CompletionPlace, ...types: string[]): Promise<readonly Candidate[]> {
  return (await listed(place, types)).map(({ resource, name }) => ({ text: name, description: resource.kind }));
}

interface Listed {
  readonly resource: ServedResource;
  readonly name: string;
}

/** The objects of these types. A type that the user may not list has none. */
async function listed(place: CompletionPlace, types: readonly string[]): Promise<readonly Listed[]> {
  await using connection = await connect(place.connection);
  // Awaited, because the connection ends with this function.
  return await withResources(connection.transport, types, async (resources) =>
    (await Promise.all(resources.map((resource) => listOf(connection, resource)))).flat(),
  );
}

async function listOf({ transport, namespace }: Connection, resource: ServedResource): Promise<readonly Listed[]> {
  const { apiVersion, plural, namespaced } = resource;
  const api = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  const accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
  const answer = await fetchJson(transport, `${api}${scope}/${plural}`, accept).catch(() => ({}));
  const { items = [] } = answer as { readonly items?: readonly { readonly metadata?: { readonly name?: string } }[] };
  return items.map(({ metadata }) => ({ resource, name: metadata?.name ?? "" })).filter(({ name }) => isPlain(name));
}

/** A server's names become words of a shell's command line, so they contain nothing that a shell reads. */
export function isPlain(name: string): boolean {
  return /^[A-Za-z0-9][\w.:/@-]*$/.test(name);
}
