import type { KeyPair, ServiceAccountKeys } from "./authority.ts";
import type { EtcdStorage } from "./scratch.ts";

export interface EtcdSettings {
  readonly folder: string;
  readonly storage: EtcdStorage;
  readonly clientUrl: string;
  readonly peerUrl: string;
}

export function etcdFlags({ folder, storage, clientUrl, peerUrl }: EtcdSettings): string[] {
  return [
    `--data-dir=${folder}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    // Kubernetes' own scripts also raise the default of 2 GB. 8 GB is the maximum that etcd recommends.
    "--quota-backend-bytes=8589934592",
    ...(storage === "memory" ? ["--unsafe-no-fsync"] : []),
  ];
}

/** Concurrent requests of kube-apiserver. Its defaults: 400 reads, 200 writes. */
export interface InFlightLimits {
  readonly reading?: number;
  readonly writing?: number;
}

export interface ApiServerSettings {
  readonly port: number;
  readonly etcdUrl: string;
  readonly serving: KeyPair;
  readonly authority: string;
  readonly tokens: string;
  readonly serviceAccountKeys: ServiceAccountKeys;
  readonly serviceAccounts: boolean;
  readonly inFlight: InFlightLimits;
  readonly audit: { readonly log: string; readonly policy: string } | undefined;
}

export function apiServerFlags(settings: ApiServerSettings): string[] {
  const { port, etcdUrl, serving, authority, tokens, serviceAccountKeys, serviceAccounts, inFlight, audit } = settings;
  return [
    `--etcd-servers=${etcdUrl}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${serving.certificate}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${authority}`,
    `--token-auth-file=${tokens}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${serviceAccountKeys.publicKey}`,
    `--service-account-signing-key-file=${serviceAccountKeys.privateKey}`,
    "--service-cluster-ip-range=10.0.0.0/16",
    // A loopback address is not a valid endpoint of the "kubernetes" Service.
    "--endpoint-reconciler-type=none",
    "--allow-privileged=true",
    ...(serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    ...(inFlight.reading === undefined ? [] : [`--max-requests-inflight=${inFlight.reading}`]),
    ...(inFlight.writing === undefined ? [] : [`--max-mutating-requests-inflight=${inFlight.writing}`]),
    ...(audit === undefined ? [] : auditFlags(audit)),
  ];
}

function auditFlags({ log, policy }: { readonly log: string; readonly policy: string }): string[] {
  // One file of up to 1 GiB and one backup: tests count lines, and rotation at the default of 100 MiB would hide some.
  return [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${log}`,
    "--audit-log-maxsize=1024",
    "--audit-log-maxbackup=1",
  ];
}

/** Records every request once, at its end, without bodies. */
export const auditPolicy: object = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

export function controllerManagerFlags(kubeconfig: string, controllers: readonly string[]): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    "--leader-elect=false",
    // No HTTPS port.
    "--secure-port=0",
  ];
}
