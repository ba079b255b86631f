import { setTimeout as sleep } from "node:timers/promises";
import { isReason, type KubeObject, type Resource } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { Progress } from "../client/progress.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { deleteOthers } from "../operator/apply-objects.ts";
import { ownCrds } from "../operator/installation.ts";
import { checkServer } from "../operator/preflight.ts";
import { definitions, deployments, namespaces } from "../operator/resources.ts";
import { defaultSettings, managerName } from "../operator/settings.ts";

export interface UninstallOptions extends GlobalOptions {
  readonly keepObjects?: boolean;
  readonly deleteObjects?: boolean;
  readonly dryRun?: boolean;
  readonly timeout: string;
}

const say = (line: string): void => console.log(line);
const lookEveryMs = 500;

/** Owners first: a pool would replace the Sandboxes that are deleted before it. */
const deletionOrder = ["sandboxclaims", "sandboxwarmpools", "sandboxes", "sandboxtemplates", "sandboxsnapshots"];
const ownKinds: readonly Resource[] = ownCrds
  .map(({ spec }) => ({
    apiVersion: `${spec.group}/${spec.versions.find(({ storage }) => storage)?.name}`,
    kind: spec.names.kind,
    plural: spec.names.plural,
    namespaced: true,
  }))
  .sort((one, other) => deletionOrder.indexOf(one.plural) - deletionOrder.indexOf(other.plural));

/** Removes manager and router. Objects of users are kept or deleted only if an option says so. */
export async function uninstall(options: UninstallOptions): Promise<void> {
  if (options.keepObjects && options.deleteObjects) {
    throw new CommandError("use either --keep-objects or --delete-objects", { exitCode: 2 });
  }
  const namespace = options.namespace ?? defaultSettings.namespace;
  const timeoutMs = parseDuration(options.timeout);
  await using connection = await connect(options);
  await checkServer(connection);
  await checkOwner(connection, namespace);
  const users = await objectsOfUsers(connection);
  if (users.length > 0 && !options.keepObjects && !options.deleteObjects) throw stillUsed(users);
  if (options.dryRun) return describe(options, namespace, users);
  using progress = new Progress();
  const waiting = { timeoutMs, progress };
  if (options.deleteObjects) await deleteObjects(connection, users, waiting);
  await deleteOthers(connection, { namespace, kept: [] }, say);
  if (!options.keepObjects) {
    for (const { metadata } of ownCrds) await remove(connection, definitions, metadata.name ?? "");
    for (const { metadata } of ownCrds) await untilGone(connection, definitions, metadata.name ?? "", waiting);
  }
  if (users.some(({ object }) => object.metadata?.namespace === namespace) && options.keepObjects) {
    say(`namespace/${namespace} kept: it contains objects of users`);
  } else {
    await remove(connection, namespaces, namespace);
    await untilGone(connection, namespaces, namespace, waiting);
  }
  const kept = options.keepObjects ? "; CRDs and objects were kept, and nothing reconciles them" : "";
  console.log(`Agent Sandbox is uninstalled${kept}`);
}

async function checkOwner({ client }: Connection, namespace: string): Promise<void> {
  const live = await client.get(deployments, { namespace, name: managerName }).catch((error: unknown) => {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  });
  if (live?.metadata?.labels?.["app.kubernetes.io/managed-by"] !== "Helm") return;
  const release = live.metadata.annotations?.["meta.helm.sh/release-name"] ?? "<release>";
  throw new CommandError(`Cannot uninstall: this is the Helm release "${release}"; use "helm uninstall ${release}"`);
}

interface UsersObject {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** In the order in which they must be deleted. */
async function objectsOfUsers({ client }: Connection): Promise<UsersObject[]> {
  const lists = await Promise.all(
    ownKinds.map(async (resource) => {
      const { items } = await client.list(resource).catch((error: unknown) => {
        // The CRD was removed, or never installed.
        if (isReason(error, "NotFound")) return { items: [] };
        throw error;
      });
      return items.map((object) => ({ resource, object }));
    }),
  );
  return lists.flat();
}

function countsOf(users: readonly UsersObject[]): string {
  const kinds = Map.groupBy(users, ({ resource }) => resource.kind);
  return [...kinds].map(([kind, found]) => `${found.length} ${found.length === 1 ? kind : pluralOf(kind)}`).join(", ");
}

const pluralOf = (kind: string): string => (kind.endsWith("x") ? `${kind}es` : `${kind}s`);

function stillUsed(users: readonly UsersObject[]): CommandError {
  const places = [...new Set(users.map(({ object }) => object.metadata?.namespace ?? ""))].sort();
  const shown =
    places.length > 5 ? `${places.slice(0, 5).join(", ")} and ${places.length - 5} more` : places.join(", ");
  return new CommandError(
    `Cannot uninstall: there are ${countsOf(users)} in ${shown}; keep them with --keep-objects, or delete them and their files with --delete-objects`,
  );
}

function describe(options: UninstallOptions, namespace: string, users: readonly UsersObject[]): void {
  if (options.deleteObjects) {
    for (const { resource, object } of users) {
      const { name = "", namespace: place } = object.metadata ?? {};
      say(`${displayName(resource, name)} in ${place} would be deleted`);
    }
  }
  say(`manager and router in namespace "${namespace}" would be deleted`);
  if (!options.keepObjects) say("all CRDs of Agent Sandbox would be deleted");
}

async function deleteObjects(connection: Connection, users: readonly UsersObject[], waiting: Waiting): Promise<void> {
  const { client } = connection;
  for (const { resource, object } of users) {
    const { name = "", namespace = "", uid } = object.metadata ?? {};
    // Not an object of the same name that was created meanwhile.
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await client.delete(resource, { name, namespace }, preconditions).catch((error: unknown) => {
      if (!isReason(error, "NotFound", "Conflict")) throw error;
    });
    say(`${displayName(resource, name)} deleted`);
  }
  const left = async (): Promise<string> => countsOf(await objectsOfUsers(connection));
  const until = performance.now() + waiting.timeoutMs;
  for (let counts = await left(); counts !== ""; counts = await left()) {
    if (performance.now() > until)
      throw new CommandError(`timed out: ${counts} are still being deleted; run this again`);
    waiting.progress.show(`waiting until ${counts} are deleted`);
    await sleep(lookEveryMs);
  }
}

async function remove({ client }: Connection, resource: Resource, name: string): Promise<void> {
  try {
    await client.delete(resource, { name });
    say(`${displayName(resource, name)} deleted`);
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
}

interface Waiting {
  readonly timeoutMs: number;
  readonly progress: Progress;
}

async function untilGone(
  { client }: Connection,
  resource: Resource,
  name: string,
  { timeoutMs, progress }: Waiting,
): Promise<void> {
  const shown = displayName(resource, name);
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const isThere = await client.get(resource, { name }).then(
      () => true,
      (error: unknown) => {
        if (isReason(error, "NotFound")) return false;
        throw error;
      },
    );
    if (!isThere) return;
    if (performance.now() > deadline)
      throw new CommandError(`timed out: ${shown} is still being deleted; run this again`);
    progress.show(`waiting until ${shown} is deleted`);
    await sleep(lookEveryMs);
  }
}
