import { copyFileSync, mkdirSync } from "node:fs";
import {
  Authority,
  type KeyPair,
  makeServiceAccountKeys,
  type ServiceAccountKeys,
} from "../../kube-apiserver/authority.ts";
import { makeUser, type User } from "../../kube-apiserver/users.ts";
import { apiServerUrl, apiServiceAddress, folder, kubeconfig, nodeAddress, nodeName } from "./settings.ts";

/** The keys of the cluster. All files are in `<folder>/keys`. */
export interface ClusterIdentities {
  readonly authority: Authority;
  readonly serving: KeyPair;
  readonly serviceAccountKeys: ServiceAccountKeys;
  /** A member of `system:masters`, whose kubeconfig is also the cluster's. */
  readonly admin: User;
  readonly kubelet: User;
  readonly kubeProxy: User;
  readonly scheduler: User;
  readonly controllerManager: User;
  /** With these, kube-apiserver talks to the kubelet and to API servers that it forwards requests to. */
  readonly apiServerAsClient: KeyPair;
  readonly aggregator: KeyPair;
}

/** Longer than anybody keeps a test cluster. */
const validDays = 365;

export function makeClusterIdentities(): ClusterIdentities {
  const keys = `${folder}/keys`;
  mkdirSync(keys, { recursive: true, mode: 0o700 });
  const authority = new Authority(keys, validDays);
  const user = (name: string, ...groups: string[]): User =>
    makeUser({ name, groups }, { url: apiServerUrl, authority });
  const services = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  const admin = user("admin", "system:masters");
  copyFileSync(admin.kubeconfig, kubeconfig);
  return {
    authority,
    serving: authority.issueServer("kube-apiserver", services, [nodeAddress, apiServiceAddress]),
    serviceAccountKeys: makeServiceAccountKeys(keys),
    admin,
    kubelet: user(`system:node:${nodeName}`, "system:nodes"),
    kubeProxy: user("system:kube-proxy"),
    scheduler: user("system:kube-scheduler"),
    controllerManager: user("system:kube-controller-manager"),
    apiServerAsClient: authority.issueClient("kube-apiserver-kubelet-client", ["system:masters"]),
    aggregator: authority.issueClient("front-proxy-client", []),
  };
}
