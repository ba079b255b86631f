/** The node's name, and the addresses of its networks. 10.192.0.0/10 belongs to boxes. */
export const nodeName = "agent-sandbox-node";
export const hostAddress = "10.130.0.1";
export const nodeAddress = "10.130.0.2";
export const linkPrefix = 30;
export const podNetwork = "10.131.0.0/16";
export const serviceNetwork = "10.132.0.0/16";
export const apiServiceAddress = "10.132.0.1";
export const dnsAddress = "10.132.0.10";

/** The machine's end of the link to the node. A link name has at most 15 characters. */
export const hostLink = "as-cluster";
export const nodeLink = "node0";

export const apiServerPort = 6443;
export const apiServerUrl = `https://${nodeAddress}:${apiServerPort}`;

/** The parent of all cgroups of the cluster, in each hierarchy. */
export const cgroupName = "agent-sandbox-cluster";

/** Everything that the cluster writes to disk. */
export const folder: string = process.env["CLUSTER_DIR"] ?? "/var/lib/agent-sandbox-cluster";
export const kubeconfig = `${folder}/admin.kubeconfig`;
/** One line of JSON per write request, without bodies. */
export const auditLog = `${folder}/audit.log`;

export const pauseImage = "agent-sandbox.test/pause:1";
export const corednsImage = "agent-sandbox.test/coredns:1";
export const metricsServerImage = "agent-sandbox.test/metrics-server:1";
/** Debian's static busybox. */
export const busyboxImage = "agent-sandbox.test/busybox:1";
