import { isReason, type KubeObject } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName, groupOf, resourceOfKind, type ServedResource, UnservedKindError } from "../client/discovery.ts";
import { type Manifest, readManifests } from "../client/manifests.ts";
import { convertShortForm, withPool } from "../client/short-forms.ts";
import { findTemplate, poolOfTemplate } from "../client/template-pool.ts";
import { lastAppliedAnnotation, threeWayPatch } from "../client/three-way-patch.ts";
import { CommandError } from "../command-error.ts";

/** Applies all objects of kinds that the server has, and names the others. Short forms are converted. */
export async function apply(options: GlobalOptions & { readonly filename: readonly string[] }): Promise<void> {
  const manifests = (await readManifests(options.filename)).map(convertShortForm);
  await using connection = await connect(options);
  let left = 0;
  for (const { changes, template, manifest } of manifests) {
    if (changes.length > 0) console.error(`Converted ${titleOf(manifest)}: ${changes.join(", ")}`);
    try {
      const resource = await resourceOfKind(connection.transport, manifest);
      const placed = placedIn(manifest, resource, connection.namespace);
      const whole = template === undefined ? placed : await withPoolOf(connection, placed, template);
      const verb = await applyOne(connection, resource, whole);
      console.log(`${displayName(resource, manifest.metadata.name)} ${verb}`);
    } catch (error) {
      if (!(error instanceof UnservedKindError)) throw changes.length > 0 ? convertedError(error, manifest) : error;
      left += 1;
      console.error(unserved(manifest, error));
    }
  }
  if (left > 0) throw new CommandError(`${left} of ${manifests.length} objects were not applied`);
}

function titleOf({ kind, metadata }: Manifest): string {
  return `${kind} "${metadata.name}"`;
}

/** A claim's template becomes a pool of it. */
async function withPoolOf(connection: Connection, manifest: Manifest, template: string): Promise<Manifest> {
  const { namespace = connection.namespace } = manifest.metadata;
  const found = await findTemplate(connection, namespace, template);
  if (found === undefined) {
    throw new CommandError(`there is no SandboxTemplate "${template}" in namespace "${namespace}": apply it first`);
  }
  const pool = await poolOfTemplate(connection, namespace, found);
  console.error(`${titleOf(manifest)} takes its sandbox from SandboxWarmPool "${pool}", which has that template`);
  return withPool(manifest, pool);
}

/** The message of the server names fields that are not in the user's file. */
function convertedError(error: unknown, manifest: Manifest): unknown {
  if (!(error instanceof Error)) return error;
  return new CommandError(`Cannot apply ${titleOf(manifest)} in its converted form: ${error.message}`, {
    cause: error,
  });
}

function unserved({ apiVersion, kind, metadata }: Manifest, { message }: UnservedKindError): string {
  const isWorkload = ["apps", "batch"].includes(groupOf(apiVersion));
  const hint = isWorkload ? "; a box runs Sandboxes and Pods, and contains the controllers and the router" : "";
  return `Cannot apply ${kind} "${metadata.name}": ${message}${hint}`;
}

function placedIn(manifest: Manifest, resource: ServedResource, namespace: string): Manifest {
  if (!resource.namespaced) return manifest;
  return { ...manifest, metadata: { ...manifest.metadata, namespace: manifest.metadata.namespace ?? namespace } };
}

async function applyOne(
  { client }: Connection,
  resource: ServedResource,
  manifest: Manifest,
): Promise<"created" | "configured" | "unchanged"> {
  const wanted = withLastApplied(manifest);
  let live: KubeObject;
  try {
    live = await client.get(resource, wanted.metadata);
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
    await client.create(resource, wanted, { fieldValidation: "Strict" });
    return "created";
  }
  const patch = threeWayPatch(lastAppliedOf(live), { ...wanted }, { ...live });
  if (patch === undefined) return "unchanged";
  const request = { type: "merge", body: patch } as const;
  const patched = await client.patch(resource, wanted.metadata, request, { fieldValidation: "Strict" });
  // A list whose items have defaults differs from the manifest and is sent, but the server changes nothing.
  return patched.metadata?.resourceVersion === live.metadata?.resourceVersion ? "unchanged" : "configured";
}

function withLastApplied(manifest: Manifest): Manifest {
  const { [lastAppliedAnnotation]: _old, ...annotations } = manifest.metadata.annotations ?? {};
  const applied = { ...manifest, metadata: { ...manifest.metadata, annotations } };
  const note = { [lastAppliedAnnotation]: `${JSON.stringify(applied)}\n` };
  return { ...manifest, metadata: { ...manifest.metadata, annotations: { ...annotations, ...note } } };
}

/** The configuration of the last `apply`. Empty if the object was created in another way or the annotation is invalid. */
function lastAppliedOf(live: KubeObject): Record<string, unknown> {
  try {
    return JSON.parse(live.metadata?.annotations?.[lastAppliedAnnotation] ?? "{}") as Record<string, unknown>;
  } catch {
    return {};
  }
}
