import { mkdirSync, writeFileSync } from "node:fs";
import type { ClusterIdentities } from "./identities.ts";
import type { Programs } from "./programs.ts";
import { cgroupName, dnsAddress, folder, nodeAddress, nodeName, pauseImage, podNetwork } from "./settings.ts";

export const containerdSocket = "/run/containerd/containerd.sock";

const paths = {
  containerd: `${folder}/config/containerd.toml`,
  runsc: `${folder}/config/runsc.toml`,
  kubelet: `${folder}/config/kubelet.json`,
  kubeProxy: `${folder}/config/kube-proxy.json`,
  auditPolicy: `${folder}/config/audit-policy.json`,
} as const;

/** The runtimes as the node runs them: copies, so that a rebuild during a test changes nothing. */
export const runtimes = { runc: `${folder}/bin/runc`, runsc: `${folder}/bin/runsc` } as const;

/** Writes the configuration files of the node's services, and returns their paths. */
export function writeConfiguration(identities: ClusterIdentities, programs: Programs): typeof paths {
  mkdirSync(`${folder}/config/cni`, { recursive: true });
  writeFileSync(`${folder}/config/cni/10-pods.conflist`, json(podNetworking));
  // Pods with the node's DNS policy, such as CoreDNS, find no other name server.
  writeFileSync(`${folder}/config/resolv.conf`, "");
  writeFileSync(paths.containerd, containerdConfiguration(programs));
  // Everything else is gVisor's default.
  writeFileSync(paths.runsc, `binary_name = "${runtimes.runsc}"\n`);
  writeFileSync(paths.kubelet, json(kubeletConfiguration(identities)));
  writeFileSync(paths.kubeProxy, json(kubeProxyConfiguration(identities)));
  writeFileSync(paths.auditPolicy, json(auditPolicy));
  return paths;
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

const podNetworking = {
  cniVersion: "1.0.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      hairpinMode: true,
      ipam: {
        type: "host-local",
        dataDir: `${folder}/cni`,
        ranges: [[{ subnet: podNetwork }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
};

// `restrict_oom_score_adj`: lowering an OOM score needs CAP_SYS_RESOURCE, which the machine may not give.
const containerdConfiguration = (programs: Programs): string => `
version = 3
root = "${folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs"]

[grpc]
  address = "${containerdSocket}"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "${pauseImage}"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "${folder}/config/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "${runtimes.runc}"
        SystemdCgroup = false
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runsc]
      runtime_type = "io.containerd.runsc.v1"
      runtime_path = "${programs.gvisorShim}/containerd-shim-runsc-v1"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runsc.options]
        TypeUrl = "io.containerd.runsc.v1.options"
        ConfigPath = "${paths.runsc}"
`;

const kubeletConfiguration = ({ authority }: ClusterIdentities): object => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: authority.certificate },
  },
  authorization: { mode: "Webhook" },
  cgroupDriver: "cgroupfs",
  cgroupRoot: `/${cgroupName}`,
  clusterDNS: [dnsAddress],
  clusterDomain: "cluster.local",
  containerRuntimeEndpoint: `unix://${containerdSocket}`,
  // A machine that is nearly full is no reason to evict, and images cannot be pulled again.
  evictionHard: {
    "memory.available": "100Mi",
    "nodefs.available": "0%",
    "nodefs.inodesFree": "0%",
    "imagefs.available": "0%",
  },
  imageGCHighThresholdPercent: 100,
  failCgroupV1: false,
  failSwapOn: false,
  makeIPTablesUtilChains: false,
  maxPods: 500,
  oomScoreAdj: 0,
  podLogsDir: `${folder}/pod-logs`,
  // The values are as it wants them (see node.sh), so it does not write them.
  protectKernelDefaults: true,
  resolvConf: `${folder}/config/resolv.conf`,
  volumePluginDir: `${folder}/volume-plugins`,
});

const kubeProxyConfiguration = ({ kubeProxy }: ClusterIdentities): object => ({
  apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
  kind: "KubeProxyConfiguration",
  mode: "nftables",
  clusterCIDR: podNetwork,
  clientConnection: { kubeconfig: kubeProxy.kubeconfig },
  // The limits of connection tracking belong to the machine.
  conntrack: { maxPerCore: 0, min: 0 },
  hostnameOverride: nodeName,
  nodeIPOverride: [nodeAddress],
  oomScoreAdj: 0,
});

/** Records writes and no reads: tests count the writes of a controller. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "None", verbs: ["get", "list", "watch"] }, { level: "Metadata" }],
};
