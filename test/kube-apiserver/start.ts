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
   * Users beside the admin. They may do nothing until RBAC lets them. No controller fills in the aggregated roles `view`,
   * `edit` and `admin`: bind roles of your own.
   */
  readonly users?: readonly UserRequest[];
  readonly inFlight?: InFlightLimits;
  /** A file that gets one line of JSON per request, without bodies. Default: no audit. */
  readonly auditLog?: string;
  /**
   * Every namespace gets its `default` account and Pods must name one that exists, as on a cluster. Default: false, so
   * that a Pod can be made in a namespace right after it.
   */
  readonly serviceAccounts?: boolean;
  /** What kube-controller-manager runs; with none it is not started. Default: garbage collector and namespaces. */
  readonly controllers?: readonly string[];
  /** More flags, after ours. */
  readonly etcdFlags?: readonly string[];
  readonly apiServerFlags?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
}

/** A real Kubernetes control plane of the test's own, on loopback. It has no nodes: a Pod stays Pending. */
export interface Kubernetes extends AsyncDisposable {
  readonly url: string;
  /** Signed the server's certificate. Issues more that kube-apiserver trusts: for webhooks, for users. */
  readonly authority: Authority;
  /** Of the group `system:masters`, with its kubeconfig. */
  readonly admin: User;
  readonly etcd: GuardedProcess;
  readonly apiServer: GuardedProcess;
  readonly controllerManager: GuardedProcess | undefined;
  readonly binaries: Binaries;
  /** Keys, kubeconfigs and logs. Gone after `stop`, like the other. */
  readonly folder: string;
  /** etcd's data. */
  readonly etcdFolder: string;
  /** One of the users that were asked for. */
  user(name: string): User;
  /** Runs the kubectl of the same release, as the admin if nobody else is named. A failure is an outcome too. */
  kubectl(words: readonly string[], how?: { readonly stdin?: string; readonly user?: User }): Promise<Outcome>;
  /** Kills the processes and removes the folders: what is in them is of no use to anyone. Safe to repeat. */
  stop(): Promise<void>;
}

const garbageCollectorAndNamespaces = ["garbage-collector-controller", "namespace-controller"];

/** Builds Kubernetes if this machine has not yet, starts it, and returns once kube-apiserver says that it is ready. */
export async function startKubernetes(options: KubernetesOptions = {}): Promise<Kubernetes> {
  const { etcd: storage = "memory", serviceAccounts = false, inFlight = {} } = options;
  const binaries = await ensureBinaries();
  await using undo = new AsyncDisposableStack();
  const { folder, etcdFolder } = undo.use(openScratch(storage));
  const start = (file: string, ...flags: string[]): GuardedProcess =>
    undo.adopt(startGuarded(file, flags, join(folder, `${basename(file)}.log`)), (started) => started.kill());

  const etcdUrl = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const etcdSettings = { folder: etcdFolder, storage, clientUrl: etcdUrl, peerUrl };
  const etcd = start(binaries.etcd, ...etcdFlags(etcdSettings), ...(options.etcdFlags ?? []));

  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const { authority, admin, users, ...files } = makeIdentities(folder, url, options.users ?? []);
  const audit = auditFiles(folder, options.auditLog);
  const settings = { ...files, port, etcdUrl, authority: authority.certificate, serviceAccounts, inFlight, audit };
  const apiServer = start(binaries.apiServer, ...apiServerFlags(settings), ...(options.apiServerFlags ?? []));
  await untilReady({ url, authority: authority.certificate, token: admin.token }, [etcd, apiServer]);

  const accounts = serviceAccounts ? ["serviceaccount-controller"] : [];
  const controllers = options.controllers ?? [...garbageCollectorAndNamespaces, ...accounts];
  const managerFlags = [
    ...controllerManagerFlags(admin.kubeconfig, controllers),
    ...(options.controllerManagerFlags ?? []),
  ];
  const controllerManager = controllers.length === 0 ? undefined : start(binaries.controllerManager, ...managerFlags);

  const owned = undo.move();
  const stop = (): Promise<void> => owned.disposeAsync();
  return {
    url,
    authority,
    admin,
    etcd,
    apiServer,
    controllerManager,
    binaries,
    folder,
    etcdFolder,
    user: (name) => userNamed(users, name),
    kubectl: (words, { stdin = "", user = admin } = {}) =>
      runKubectl(words, { binary: binaries.kubectl, kubeconfig: user.kubeconfig, home: folder, stdin }),
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
