import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { type ClusterAccess, fixedCredential } from "../client/http/cluster-access.ts";
import { readCluster } from "./cluster.ts";
import { ConfigProblem, type Fields } from "./fields.ts";
import { type InClusterOptions, isInCluster, loadInCluster } from "./in-cluster.ts";
import { asLoaded, type LoadedAccess } from "./loaded-access.ts";
import { type Kubeconfig, mergeFiles } from "./merge.ts";
import { readImpersonation, readUser } from "./user.ts";

export interface KubeconfigOptions {
  /** A file, which must exist. Default: the files in `KUBECONFIG`, else `~/.kube/config`. */
  readonly path?: string;
  /** Default: the files' `current-context`. */
  readonly context?: string;
  /** Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Far above a kubeconfig with a thousand clusters, which has a few MiB. */
const largestFileBytes = 16 << 20;

/** Access to a cluster from kubeconfig files, merged like kubectl does. */
export function loadKubeconfig(options: KubeconfigOptions = {}): Promise<LoadedAccess> {
  return asLoaded(async () => accessOf(await mergeFiles(await readFiles(options)), options.context));
}

/** Access from the kubeconfig if there is one, else with the service account of the Pod, like kubectl. */
export async function loadDefault(options: KubeconfigOptions & InClusterOptions = {}): Promise<LoadedAccess> {
  const named = options.path !== undefined || options.context !== undefined;
  if (
    !named &&
    isInCluster(options.env ?? process.env) &&
    (await readExisting(options).catch(() => [""])).length === 0
  ) {
    return loadInCluster(options);
  }
  return loadKubeconfig(options);
}

async function readFiles(options: KubeconfigOptions): Promise<{ file: string; text: string }[]> {
  const texts = await readExisting(options);
  if (texts.length > 0) return texts;
  const looked = pathsOf(options).map((path) => `"${path}"`);
  throw new ConfigProblem(`Cannot find a kubeconfig: there is no ${looked.join(" and no ")}`);
}

/** Skips files that do not exist. */
async function readExisting(options: KubeconfigOptions): Promise<{ file: string; text: string }[]> {
  const texts: { file: string; text: string }[] = [];
  for (const file of pathsOf(options)) {
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw new ConfigProblem(`Cannot read kubeconfig "${file}": ${error.message}`);
    });
    if (text !== undefined && text.length > largestFileBytes) {
      throw new ConfigProblem(`Cannot read kubeconfig "${file}": it is larger than ${largestFileBytes} bytes`);
    }
    if (text !== undefined) texts.push({ file, text });
  }
  return texts;
}

function pathsOf({ path, env = process.env }: KubeconfigOptions): string[] {
  if (path !== undefined) return [resolve(path)];
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((entry) => entry !== "");
  if (listed.length === 0) return [join(env["HOME"] || homedir(), ".kube", "config")];
  return [...new Set(listed.map((entry) => resolve(entry)))];
}

async function accessOf(config: Kubeconfig, wanted: string | undefined): Promise<ClusterAccess> {
  const context = pickContext(config, wanted);
  const clusterName = context.text("cluster");
  const userName = context.text("user");
  if (clusterName === undefined) throw context.problem("cluster", "is missing");
  const cluster = config.clusters.get(clusterName);
  if (cluster === undefined) throw context.problem("cluster", `is "${clusterName}", which ${lacks(config.clusters)}`);
  const user = userName === undefined ? undefined : config.users.get(userName);
  if (userName !== undefined && user === undefined) {
    throw context.problem("user", `is "${userName}", which ${lacks(config.users)}`);
  }
  const { access, forPlugins } = await readCluster(cluster);
  return {
    ...access,
    namespace: context.text("namespace") ?? "default",
    credentials: user ? await readUser(user, forPlugins) : fixedCredential({}),
    headers: user ? readImpersonation(user) : {},
  };
}

function pickContext(config: Kubeconfig, wanted: string | undefined): Fields {
  const name = wanted ?? config.currentContext;
  const files = config.files.map((file) => `"${file}"`).join(", ");
  if (name === undefined) {
    throw new ConfigProblem(`Cannot use kubeconfig ${files}: no current-context is set, ${choices(config.contexts)}`);
  }
  const context = config.contexts.get(name);
  if (context) return context;
  throw new ConfigProblem(`Cannot use kubeconfig ${files}: there is no context "${name}", ${choices(config.contexts)}`);
}

function lacks(entries: ReadonlyMap<string, Fields>): string {
  return `is not defined, ${choices(entries)}`;
}

function choices(entries: ReadonlyMap<string, Fields>): string {
  if (entries.size === 0) return "and none is defined";
  return `there are ${[...entries.keys()].map((name) => `"${name}"`).join(", ")}`;
}
