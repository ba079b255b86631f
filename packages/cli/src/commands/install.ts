import { type Connection, connect } from "../client/connect.ts";
import { Progress } from "../client/progress.ts";
import { stringify } from "../client/yaml.ts";
import { CommandError } from "../command-error.ts";
import { applyObjects, deleteOthers, ensureRouterKey } from "../operator/apply-objects.ts";
import { awaitDefinitions, awaitRollout } from "../operator/await-rollout.ts";
import { type InstallOptions, type InstallPlan, planFrom } from "../operator/install-options.ts";
import { installation } from "../operator/installation.ts";
import { forServer, type OperatorObject } from "../operator/manifest.ts";
import {
  checkLeftovers,
  checkObjects,
  checkPermissions,
  checkServer,
  checkVersion,
  type Installed,
} from "../operator/preflight.ts";
import { namespaces } from "../operator/resources.ts";
import { version } from "../version.ts";

const say = (line: string): void => console.log(line);

/** Installs manager and router in a cluster. Changes nothing unless all checks pass. */
export async function install(options: InstallOptions): Promise<void> {
  const plan = planFrom(options);
  const objects = installation(plan.settings, plan.parts);
  if (options.dryRun) return print(objects);
  await using connection = await connect(options);
  await check(connection, plan, objects);
  await applyAll(connection, plan, { objects, wait: options.wait });
  console.log(`Agent Sandbox ${version} is installed in namespace "${plan.settings.namespace}"`);
}

/** Brings an installation to this version and these options. Removes what they no longer contain. */
export async function upgrade(options: InstallOptions): Promise<void> {
  const plan = planFrom(options);
  const objects = installation(plan.settings, plan.parts);
  if (options.dryRun) return print(objects);
  await using connection = await connect(options);
  const { namespace } = plan.settings;
  const installed = await check(connection, plan, objects);
  if (installed === undefined) {
    throw new CommandError(`nothing is installed in namespace "${namespace}": use "agent-sandbox install"`);
  }
  await applyAll(connection, plan, { objects, wait: options.wait });
  await deleteOthers(connection, { namespace, kept: objects }, say);
  const from = installed.version === undefined ? "another implementation" : `version ${installed.version}`;
  console.log(`Agent Sandbox ${version} replaces ${from} in namespace "${namespace}"`);
}

function print(objects: readonly OperatorObject[]): void {
  console.log(
    objects.map((object) => stringify(forServer(object), { aliasDuplicateObjects: false }).trimEnd()).join("\n---\n"),
  );
}

async function check(
  connection: Connection,
  { settings }: InstallPlan,
  objects: readonly OperatorObject[],
): Promise<Installed | undefined> {
  using progress = new Progress();
  progress.show("checking the cluster");
  await checkServer(connection);
  await checkPermissions(connection, objects);
  const installed = await checkLeftovers(connection, objects, settings.namespace);
  checkVersion(installed);
  progress.show("letting the server validate all objects");
  const { items } = await connection.client.list(namespaces, { fieldSelector: `metadata.name=${settings.namespace}` });
  await checkObjects(connection, objects, items.length > 0);
  return installed;
}

async function applyAll(
  connection: Connection,
  { settings: { namespace }, parts, timeoutMs }: InstallPlan,
  { objects, wait }: { readonly objects: readonly OperatorObject[]; readonly wait: boolean },
): Promise<void> {
  const definitions = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
  await applyObjects(connection, definitions, say);
  using progress = new Progress();
  await awaitDefinitions(
    connection,
    definitions.map(({ metadata }) => metadata.name),
    { timeoutMs, progress },
  );
  const [homes, others] = [objects.filter(({ kind }) => kind === "Namespace"), objects.slice(definitions.length)];
  await applyObjects(connection, homes, say);
  if (parts.router) await ensureRouterKey(connection, namespace, say);
  await applyObjects(
    connection,
    others.filter((object) => !homes.includes(object)),
    say,
  );
  if (!wait) return;
  for (const { metadata } of objects.filter(({ kind }) => kind === "Deployment")) {
    await awaitRollout(connection, { namespace, name: metadata.name }, { timeoutMs, progress });
    progress[Symbol.dispose]();
    say(`deployment.apps/${metadata.name} is ready`);
  }
}
