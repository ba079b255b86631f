import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { runtimes } from "./configuration.ts";
import type { ClusterIdentities } from "./identities.ts";
import type { Programs } from "./programs.ts";
import { apiServerPort, auditLog, folder, nodeAddress, nodeName, serviceNetwork } from "./settings.ts";

/** Programs of the node that are started again when they end. */
export const serviceNames = [
  "containerd",
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-proxy",
  "kube-scheduler",
  "kubelet",
] as const;
export type ServiceName = (typeof serviceNames)[number];

export interface ServiceInputs {
  readonly identities: ClusterIdentities;
  readonly programs: Programs;
  readonly configuration: {
    readonly containerd: string;
    readonly kubelet: string;
    readonly kubeProxy: string;
    readonly auditPolicy: string;
  };
}

/** Writes each service as a script of one command, which node.sh runs. */
export function writeServices(inputs: ServiceInputs): void {
  for (const name of ["services", "logs", "pids"]) mkdirSync(`${folder}/${name}`, { recursive: true });
  for (const [name, words] of Object.entries(commandLines(inputs))) {
    const file = `${folder}/services/${name}`;
    writeFileSync(file, `#!/bin/sh\n${environment(inputs.programs)}exec ${words.map(quoted).join(" \\\n  ")}\n`);
    chmodSync(file, 0o755);
  }
}

/** containerd finds its shim for runc on the PATH. Go's collector runs less often, which saves processor time. */
const environment = ({ containerd }: Programs): string =>
  `export PATH=${quoted(`${containerd}:/usr/sbin:/usr/bin:/sbin:/bin`)} GOGC=200\n`;

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

const etcdUrl = "http://127.0.0.1:2379";

function commandLines({ identities, programs, configuration }: ServiceInputs): Record<ServiceName, string[]> {
  const { authority, serving, serviceAccountKeys, apiServerAsClient, aggregator } = identities;
  return {
    containerd: [`${programs.containerd}/containerd`, "--config", configuration.containerd],
    etcd: [
      programs.etcd,
      `--data-dir=${folder}/etcd`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      "--listen-peer-urls=http://127.0.0.1:2380",
      "--initial-advertise-peer-urls=http://127.0.0.1:2380",
      "--initial-cluster=default=http://127.0.0.1:2380",
      "--quota-backend-bytes=8589934592",
    ],
    "kube-apiserver": [
      programs.apiServer,
      `--etcd-servers=${etcdUrl}`,
      `--advertise-address=${nodeAddress}`,
      `--secure-port=${apiServerPort}`,
      `--tls-cert-file=${serving.certificate}`,
      `--tls-private-key-file=${serving.key}`,
      `--client-ca-file=${authority.certificate}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${serviceAccountKeys.publicKey}`,
      `--service-account-signing-key-file=${serviceAccountKeys.privateKey}`,
      `--service-cluster-ip-range=${serviceNetwork}`,
      "--allow-privileged=true",
      `--kubelet-client-certificate=${apiServerAsClient.certificate}`,
      `--kubelet-client-key=${apiServerAsClient.key}`,
      "--kubelet-preferred-address-types=InternalIP",
      `--proxy-client-cert-file=${aggregator.certificate}`,
      `--proxy-client-key-file=${aggregator.key}`,
      `--requestheader-client-ca-file=${authority.certificate}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-username-headers=X-Remote-User",
      `--audit-policy-file=${configuration.auditPolicy}`,
      `--audit-log-path=${auditLog}`,
      // Tests count lines: one large file, so that none is rotated away.
      "--audit-log-maxsize=1024",
      "--audit-log-maxbackup=1",
    ],
    "kube-controller-manager": [
      programs.controllerManager,
      `--kubeconfig=${identities.controllerManager.kubeconfig}`,
      "--leader-elect=false",
      "--use-service-account-credentials=true",
      `--root-ca-file=${authority.certificate}`,
      `--service-account-private-key-file=${serviceAccountKeys.privateKey}`,
      // Volumes are folders of the node.
      "--enable-hostpath-provisioner=true",
      `--flex-volume-plugin-dir=${folder}/volume-plugins`,
      // The autoscaler of Pods decides every 15 s by default, and ignores Pods younger than 5 minutes.
      "--horizontal-pod-autoscaler-sync-period=2s",
      "--horizontal-pod-autoscaler-initial-readiness-delay=2s",
      "--horizontal-pod-autoscaler-cpu-initialization-period=5s",
    ],
    "kube-proxy": [programs.kubeProxy, `--config=${configuration.kubeProxy}`],
    "kube-scheduler": [
      programs.scheduler,
      `--kubeconfig=${identities.scheduler.kubeconfig}`,
      `--authentication-kubeconfig=${identities.scheduler.kubeconfig}`,
      `--authorization-kubeconfig=${identities.scheduler.kubeconfig}`,
      "--leader-elect=false",
    ],
    kubelet: [
      programs.kubelet,
      `--config=${configuration.kubelet}`,
      `--kubeconfig=${identities.kubelet.kubeconfig}`,
      `--hostname-override=${nodeName}`,
      `--node-ip=${nodeAddress}`,
      `--root-dir=${folder}/kubelet`,
    ],
  };
}

/** What the node keeps of the runtimes, by path in `dist`. */
export const copiedRuntimes = ({ runc, runsc }: Programs): readonly (readonly [from: string, to: string])[] => [
  [runc, runtimes.runc],
  [runsc, runtimes.runsc],
];
