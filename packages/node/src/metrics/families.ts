import type { CgroupUsage } from "./cgroup-usage.ts";
import type { Family, Labels, Sample } from "./exposition.ts";
import type { ClaimUsage, ContainerUsage, PodUsage, Traffic } from "./pod-usage.ts";

/** The usage of the whole machine. */
export interface NodeUsage {
  readonly cpuSeconds: number;
  readonly workingSetBytes: number;
}

type Kind = Pick<Family, "help" | "type">;
const counter = (help: string): Kind => ({ help, type: "counter" });
const gauge = (help: string): Kind => ({ help, type: "gauge" });

/** The metrics of the kubelet's `/metrics/resource`. */
export function resourceFamilies(pods: readonly PodUsage[], node: NodeUsage): Family[] {
  const ofContainers = (pick: (one: ContainerUsage) => number): Sample[] =>
    eachContainer(pods, ({ namespace, name }, one) => ({
      labels: { container: one.name, namespace, pod: name },
      value: pick(one),
    }));
  const ofPods = (pick: (one: PodUsage) => number): Sample[] =>
    pods.map((pod) => ({ labels: { namespace: pod.namespace, pod: pod.name }, value: pick(pod) }));
  const once = (value: number): Sample[] => [{ labels: {}, value }];
  return [
    family(
      "container_cpu_usage_seconds_total",
      counter("CPU time a container has used"),
      ofContainers((one) => one.used.cpuSeconds),
    ),
    family(
      "container_memory_working_set_bytes",
      gauge("Working set of a container"),
      ofContainers((one) => one.used.workingSetBytes),
    ),
    family(
      "container_start_time_seconds",
      gauge("When a container was started, since 1970"),
      ofContainers((one) => one.startedAtMs / 1000),
    ),
    family(
      "pod_cpu_usage_seconds_total",
      counter("CPU time a Pod has used"),
      ofPods(({ used }) => used.cpuSeconds),
    ),
    family(
      "pod_memory_working_set_bytes",
      gauge("Working set of a Pod"),
      ofPods(({ used }) => used.workingSetBytes),
    ),
    family("node_cpu_usage_seconds_total", counter("CPU time the machine has used"), once(node.cpuSeconds)),
    family("node_memory_working_set_bytes", gauge("Working set of the machine"), once(node.workingSetBytes)),
    family("resource_scrape_error", gauge("1 when something could not be read"), once(0)),
  ];
}

/** The metrics of the kubelet's `/metrics/cadvisor`. Samples of a whole Pod have empty labels `container` and `name`. */
export function cadvisorFamilies(pods: readonly PodUsage[]): Family[] {
  const groups: { labels: Labels; used: CgroupUsage; diskBytes: number }[] = pods.flatMap((pod) => [
    { labels: podLabels(pod), used: pod.used, diskBytes: pod.diskBytes },
    ...pod.containers.map((one) => ({ labels: containerLabels(pod, one), used: one.used, diskBytes: one.diskBytes })),
  ]);
  const ofGroups = (pick: (used: CgroupUsage) => number, more: Labels = {}): Sample[] =>
    groups.map(({ labels, used }) => ({ labels: { ...more, ...labels }, value: pick(used) }));
  return [
    family(
      "container_cpu_usage_seconds_total",
      counter("CPU time used"),
      ofGroups((used) => used.cpuSeconds, { cpu: "total" }),
    ),
    family(
      "container_memory_usage_bytes",
      gauge("Memory in use, caches included"),
      ofGroups((used) => used.memoryBytes),
    ),
    family(
      "container_memory_working_set_bytes",
      gauge("Memory that cannot be given back at once"),
      ofGroups((used) => used.workingSetBytes),
    ),
    family(
      "container_memory_rss",
      gauge("Anonymous memory"),
      ofGroups((used) => used.rssBytes),
    ),
    family(
      "container_memory_cache",
      gauge("Files in memory"),
      ofGroups((used) => used.cacheBytes),
    ),
    family(
      "container_processes",
      gauge("Processes"),
      ofGroups((used) => used.processes),
    ),
    family(
      "container_fs_usage_bytes",
      gauge("What was written to the disk and is still there"),
      groups.map(({ labels, diskBytes }) => ({ labels, value: diskBytes })),
    ),
    family(
      "container_start_time_seconds",
      gauge("When a container was started, since 1970"),
      eachContainer(pods, (pod, one) => ({ labels: containerLabels(pod, one), value: one.startedAtMs / 1000 })),
    ),
    ...(["receive", "transmit"] as const).flatMap((direction) => trafficFamilies(pods, direction)),
  ];
}

/** The volume metrics of the kubelet's `/metrics`. A claim that several Pods use has one sample. */
export function volumeFamilies(pods: readonly PodUsage[]): Family[] {
  const claims = new Map(
    pods.flatMap(({ namespace, claims: own }) => own.map((one) => [`${namespace}/${one.name}`, { namespace, ...one }])),
  );
  const samples = (pick: (one: ClaimUsage) => number): Sample[] =>
    [...claims.values()].map((one) => ({
      labels: { namespace: one.namespace, persistentvolumeclaim: one.name },
      value: pick(one),
    }));
  return [
    family(
      "kubelet_volume_stats_capacity_bytes",
      gauge("What a claim asked for"),
      samples(({ bytes }) => bytes),
    ),
    family(
      "kubelet_volume_stats_used_bytes",
      gauge("What a claim holds"),
      samples(({ usedBytes }) => usedBytes),
    ),
    family(
      "kubelet_volume_stats_available_bytes",
      gauge("What a claim has room for"),
      samples(({ bytes, usedBytes }) => Math.max(0, bytes - usedBytes)),
    ),
  ];
}

const trafficParts = ["bytes", "packets", "errors", "dropped"] as const;

function trafficFamilies(pods: readonly PodUsage[], direction: "receive" | "transmit"): Family[] {
  const trafficOf = ({ network }: PodUsage): Traffic | undefined =>
    direction === "receive" ? network?.received : network?.sent;
  return trafficParts.map((part) => {
    const name = `container_network_${direction}_${part === "dropped" ? "packets_dropped" : part}_total`;
    const samples = pods.flatMap((pod): Sample[] => {
      const counted = trafficOf(pod);
      return counted === undefined ? [] : [{ labels: { interface: "eth0", ...podLabels(pod) }, value: counted[part] }];
    });
    return family(name, counter(`Network: ${part} (${direction})`), samples);
  });
}

const family = (name: string, kind: Kind, samples: readonly Sample[]): Family => ({ name, ...kind, samples });

function eachContainer(pods: readonly PodUsage[], sample: (pod: PodUsage, one: ContainerUsage) => Sample): Sample[] {
  return pods.flatMap((pod) => pod.containers.map((one) => sample(pod, one)));
}

const podLabels = ({ cgroup, namespace, name }: PodUsage): Labels => ({
  container: "",
  id: cgroup,
  image: "",
  name: "",
  namespace,
  pod: name,
});

const containerLabels = ({ namespace, name: pod }: PodUsage, { cgroup, id, image, name }: ContainerUsage): Labels => ({
  container: name,
  id: cgroup,
  image,
  name: id,
  namespace,
  pod,
});
