import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { freePort } from "../free-port.ts";
import type { Authority } from "./authority.ts";
import { type Binaries, ensureBinaries } from "./binaries.ts";
import { apiServerFlags, auditPolicy, controllerManagerFlags, etcdFlags, type InFlightLimits } from "./flags.ts";
import { type GuardedProcess, startGuarded } from "./guarded-process.ts";
import { makeIdentities } from "./identities.ts";
import { type Outcome, runKubectl } from "./kubectl.ts";
import { untilReady } from "./readiness.ts";
import { type EtcdStorage, openScratch } from "./scratch.ts";
import type { User, UserRequest } from "./users.ts";

export interface KubernetesOptions {
  /** Default: `memory`. */
  readonly etcd?: EtcdStorage;
  /**
   * Users besides the admin. They have no permissions until RBAC grants them. The roles `view`, `edit` and `admin` are empty unless
   * `controllers` contains `clusterrole-aggregation-controller`.
   */
  readonly users?: readonly UserRequest[];
  readonly inFlight?: InFlightLimits;
  /** A file that gets one line of JSON per request, without bodies. Default: no audit. */
  readonly auditLog?: string;
  /**
   * Whether every namespace gets its `default` service account and Pods need an existing one. Default: false, so that a Pod can be
   * created immediately after its namespace.
   */
  readonly serviceAccounts?: boolean;
  /** The controllers of kube-controller-manager. With none it is not started. Default: garbage collector and namespaces. */
  readonly controllers?: readonly string[];
  /**
   * Called when kube-apiserver is ready and before kube-controller-manager starts. Kinds that exist by then are known to the garbage
   * collector from its start; it looks for later ones only twice a minute.
   */
  readonly prepare?: (server: KubernetesServer) => Promise<void>;
  /**
   * GOGC of all processes: how much the heap grows before it is collected. Default: 200, which saves processor time and needs some
   * hundred MB more than Go's default of 100.
   */
  readonly heapGrowthPercent?: number;
  /** Additional flags. */
  readonly etcdFlags?: readonly string[];
  readonly apiServerFlags?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
}

/** kube-apiserver as its clients use it. */
export interface KubernetesServer {
  readonly url: string;
  /** The certificate authority of the server. It can issue more certificates for webhooks and users. */
  readonly authority: Authority;
  /** A member of `system:masters`. */
  readonly admin: User;
  /** Runs the kubectl of the same release, by default as the admin. Does not throw when the command fails. */
  kubectl(words: readonly string[], how?: { readonly stdin?: string; readonly user?: User }): Promise<Outcome>;
}

/** A real Kubernetes control plane for a test, on loopback. It has no nodes, so Pods stay pending. */
export interface Kubernetes extends KubernetesServer, AsyncDisposable {
  readonly etcd: GuardedProcess;
  readonly apiServer: GuardedProcess;
  readonly controllerManager: GuardedProcess | undefined;
  readonly binaries: Binaries;
  /** The folder of keys, kubeconfigs and logs. `stop` removes both folders. */
  readonly folder: string;
  /** etcd's data. */
  readonly etcdFolder: string;
  /** Kills kube-apiserver and starts it again with the same address and data. Resolves when it is ready. */
  restartApiServer(): Promise<void>;
  /** One of the users in the options. */
  user(name: string): User;
  /** Kills the processes and removes the folders. Safe to repeat. */
  stop(): Promise<void>;
}

const garbageCollectorAndNamespaces = ["garbage-collector-controller", "namespace-controller"];

/** Builds Kubernetes if necessary, starts it, and waits until kube-apiserver is ready. */
export async function startKubernetes(options: KubernetesOptions = {}): Promise<Kubernetes> {
  const { etcd: storage = "memory", serviceAccounts = false, inFlight = {}, heapGrowthPercent = 200 } = options;
  const env = { GOGC: String(heapGrowthPercent) };
  const binaries = await ensureBinaries();
  await using undo = new AsyncDisposableStack();
  const { folder, etcdFolder } = undo.use(openScratch(storage));
  // Another one when everything has started.
  let stack = undo;
  const start = (file: string, ...flags: string[]): GuardedProcess =>
    stack.adopt(startGuarded(file, { flags, logFile: join(folder, `${basename(file)}.log`), env }), (started) =>
      started.kill(),
    );

  const etcdUrl = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const etcdSettings = { folder: etcdFolder, storage, clientUrl: etcdUrl, peerUrl };
  const etcd = start(binaries.etcd, ...etcdFlags(etcdSettings), ...(options.etcdFlags ?? []));

  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const { authority, admin, users, ...files } = makeIdentities(folder, url, options.users ?? []);
  const audit = auditFiles(folder, options.auditLog);
  const settings = { ...files, port, etcdUrl, authority: authority.certificate, serviceAccounts, inFlight, audit };
  const startApiServer = (): GuardedProcess =>
    start(binaries.apiServer, ...apiServerFlags(settings), ...(options.apiServerFlags ?? []));
  let apiServer = startApiServer();
  const apiServerReady = (): Promise<void> =>
    untilReady({ url, authority: authority.certificate, token: admin.token }, [etcd, apiServer]);
  await apiServerReady();
  const kubectl: KubernetesServer["kubectl"] = (words, { stdin = "", user = admin } = {}) =>
    runKubectl(words, { binary: binaries.kubectl, kubeconfig: user.kubeconfig, home: folder, stdin });
  const server = { url, authority, admin, kubectl };
  await options.prepare?.(server);

  const accounts = serviceAccounts ? ["serviceaccount-controller"] : [];
  const controllers = options.controllers ?? [...garbageCollectorAndNamespaces, ...accounts];
  const managerFlags = [
    ...controllerManagerFlags(admin.kubeconfig, controllers),
    ...(options.controllerManagerFlags ?? []),
  ];
  const controllerManager = controllers.length === 0 ? undefined : start(binaries.controllerManager, ...managerFlags);

  const owned = undo.move();
  stack = owned;
  const stop = (): Promise<void> => owned.disposeAsync();
  return {
    ...server,
    etcd,
    get apiServer() {
      return apiServer;
    },
    restartApiServer: async () => {
      await apiServer.kill();
      apiServer = startApiServer();
      await apiServerReady();
    },
    controllerManager,
    binaries,
    folder,
    etcdFolder,
    user: (name) => userNamed(users, name),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function auditFiles(folder: string, log: string | undefined): { log: string; policy: string } | undefined {
  if (log === undefined) return undefined;
  const policy = join(folder, "audit-policy.json");
  writeFileSync(policy, JSON.stringify(auditPolicy));
  return { log, policy };
}

function userNamed(users: readonly User[], name: string): User {
  const found = users.find((user) => user.name === name);
  if (found === undefined) throw new Error(`Cannot find user "${name}": name it in the options of startKubernetes`);
  return found;
}
