import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { findMonitors } from "../../packages/node/src/runtime/monitor.ts";
import { detectCgroups } from "../../packages/node/src/system/cgroups.ts";
import { namesIn } from "../../packages/node/src/system/folders.ts";
import { runCommand } from "../../packages/node/src/system/run-command.ts";
import { findTraces, type Traces } from "../../packages/node/src/testing/traces.ts";

/** Everything on the machine that belongs to one box: resources of its Pods, firewall rules and folders. */
export interface Census extends Traces {
  /** The ids of containers with a monitor. */
  readonly monitors: readonly string[];
  /** The ids of containers in the state of a runtime. */
  readonly containers: readonly string[];
  readonly rules: readonly string[];
  /** The cgroups in all trees. */
  readonly cgroups: readonly string[];
  /** The files in the data folder and the runtimes' state folder, except images and files of Pods. */
  readonly files: readonly string[];
}

export async function takeCensus(dataDir: string): Promise<Census> {
  const layout = layoutOf(dataDir);
  const monitors = await findMonitors(layout.exitsDir);
  return {
    ...(await findTraces(dataDir)),
    monitors: monitors.map(({ id }) => id).toSorted(),
    containers: await containersIn(layout.runDir),
    rules: await rulesOf(layout.firewallTable),
    cgroups: await cgroupsBelow(layout.cgroupParent),
    files: [...(await pathsIn(layout.dataDir, 2)), ...(await pathsIn(layout.runDir, 2))].filter(isOfPods),
  };
}

/** State files of `runsc` are named after the container and its sandbox, state folders of `runc` after the container. */
async function containersIn(runDir: string): Promise<string[]> {
  const roots = await Promise.all((await namesIn(runDir)).map((name) => namesIn(join(runDir, name))));
  const ids = roots.flat().map((name) => name.replace(/_sandbox:.*$/, ""));
  return [...new Set(ids.filter((id) => /_\d+$/.test(id)))].toSorted();
}

async function rulesOf(table: string): Promise<string[]> {
  const families = await Promise.all(
    ["inet", "bridge"].map((family) => runCommand("nft", ["-s", "list", "table", family, table])),
  );
  const rules = families.flatMap((text) => text.split("\n").map((line) => line.trim().replace(apiPort, "$1(port)")));
  return rules.filter((rule) => !ofRoutes.test(rule));
}

/** The port of the API server for Pods, which is another one after each start. */
const apiPort = /^((?:.* )?ip daddr [\d.]+ tcp dport (?:443 dnat ip to [\d.]+:)?)\d+/;

/** The rule about networks that this machine has routes to when the box starts. Other programs add and remove them. */
const ofRoutes = /^ip daddr [\d{][^@]* accept$/;

async function cgroupsBelow(parent: string): Promise<string[]> {
  const trees = (await detectCgroups()).folders("/");
  const found = await Promise.all(trees.map((tree) => foldersIn(join(tree, parent), tree)));
  return [...new Set(found.flat())].toSorted();
}

async function foldersIn(folder: string, tree: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const inner = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  const deeper = await Promise.all(inner.map((path) => foldersIn(path, tree)));
  return [...inner.map((path) => path.slice(tree.length)), ...deeper.flat()];
}

async function pathsIn(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const paths = entries.map(({ name }) => join(folder, name)).toSorted();
  if (depth === 1) return paths;
  const folders = entries.filter((entry) => entry.isDirectory());
  const deeper = await Promise.all(folders.map(({ name }) => pathsIn(join(folder, name), depth - 1)));
  return [...paths, ...deeper.flat()];
}

const isOfPods = (path: string): boolean => !path.includes("/images/");
