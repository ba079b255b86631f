import { sandboxClaims } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { discover, displayName, resolveResource, resourceOfKind, type ServedResource } from "../client/discovery.ts";
import { listStep } from "../client/next-step.ts";
import { convertShortForm } from "../client/short-forms.ts";
import { isSandboxes } from "../client/wide-columns.ts";
import { CommandError } from "../command-error.ts";

export interface DeleteOptions extends GlobalOptions {
  readonly filename?: readonly string[];
  readonly ignoreNotFound?: boolean;
  readonly all?: boolean;
}

interface Target {
  readonly resource: ServedResource;
  readonly name: string;
  readonly namespace: string;
  /** A word of the user. The name of a claim stands for that of its sandbox. */
  readonly isWord?: boolean;
}

/** Deletes objects and everything they own. Reports missing objects after the others are deleted. */
export async function deleteObjects(words: readonly string[], options: DeleteOptions): Promise<void> {
  if ((words.length === 0) === (options.filename === undefined)) {
    throw new CommandError("pass either objects to delete, as in sandbox/my-sandbox, or a file with -f");
  }
  // The YAML parser is nearly half of what this command would load.
  const manifests =
    options.filename === undefined
      ? []
      : await (await import("../client/manifests.ts")).readManifests(options.filename);
  await using connection = await connect(options);
  const { client, transport, namespace } = connection;
  const targets: Target[] = [];
  for (const { apiVersion, kind, metadata } of manifests.map((one) => convertShortForm(one).manifest)) {
    const resource = await resourceOfKind(transport, { apiVersion, kind });
    targets.push({ resource, name: metadata.name, namespace: metadata.namespace ?? namespace });
  }
  const served = words.length > 0 ? await discover(transport) : [];
  if (options.all === true) targets.push(...(await allOf(connection, words, served)));
  else {
    for (const { type, name } of namedBy(words)) {
      targets.push({ resource: resolveResource(type, served), name, namespace, isWord: true });
    }
  }
  const missing: Target[] = [];
  for (const target of targets) {
    const gone = await deleteOne(client, target);
    if (gone !== undefined) console.log(`${gone} deleted`);
    // An object of a list may be gone already, for instance with its owner.
    else if (options.all !== true) missing.push(target);
  }
  if (missing.length > 0 && options.ignoreNotFound !== true) throw new CommandError(describeMissing(missing));
}

function describeMissing(missing: readonly Target[]): string {
  const shown = missing.map(({ resource, name }) => displayName(resource, name)).join(", ");
  const types = new Set(missing.map(({ resource }) => resource.plural));
  return `${shown} not found; ${listStep([...types].join(","), missing[0]?.namespace)}`;
}

/** Deletes an object. Returns what was deleted; undefined: it does not exist. */
async function deleteOne(client: Client, target: Target): Promise<string | undefined> {
  const { resource, name, namespace, isWord = false } = target;
  const candidates = isWord && isSandboxes(resource) ? [resource, sandboxClaims] : [resource];
  for (const candidate of candidates) {
    try {
      await client.delete(candidate, { name, ...(candidate.namespaced && { namespace }) });
      return displayName(candidate, name);
    } catch (error) {
      // A server without the extensions has no claims, and a user may not be allowed to delete them.
      const isGuess = candidate !== resource && isReason(error, "Forbidden");
      if (!isReason(error, "NotFound") && !isGuess) throw error;
    }
  }
  return undefined;
}

/** All objects of the types in the namespace. Cluster-wide objects must be named: a mistake would affect everybody. */
async function allOf(
  { client, namespace }: Connection,
  types: readonly string[],
  served: readonly ServedResource[],
): Promise<Target[]> {
  const targets: Target[] = [];
  for (const resource of types.flatMap((word) => word.split(",")).map((word) => resolveResource(word, served))) {
    if (!resource.namespaced) throw new CommandError(`Cannot delete all ${resource.plural}: name them`);
    const { items } = await client.list(resource, { namespace });
    targets.push(...items.map(({ metadata }) => ({ resource, name: metadata?.name ?? "", namespace })));
  }
  if (targets.length === 0) console.error("No resources found");
  return targets;
}

/** Parses `type name name` or `type/name type/name`. A type alone is an error, because it would delete all objects. */
export function namedBy(words: readonly string[]): { readonly type: string; readonly name: string }[] {
  const slashed = words.filter((word) => word.includes("/"));
  if (slashed.length > 0 && slashed.length < words.length) {
    throw new CommandError("write type/name for each object, or one type followed by names");
  }
  const pairs =
    slashed.length > 0
      ? slashed.map((word) => word.split("/"))
      : words.slice(1).map((name) => [words[0] ?? "", name] as const);
  if (words.length > 0 && pairs.length === 0) {
    throw new CommandError(`Cannot delete "${words[0]}": add the names of the objects, as in sandbox/my-sandbox`);
  }
  return pairs.map(([type = "", name = "", ...rest]) => {
    if (type && name && rest.length === 0) return { type, name };
    throw new CommandError(
      `Cannot delete "${[type, name, ...rest].join("/")}": write type/name, as in sandbox/my-sandbox`,
    );
  });
}
