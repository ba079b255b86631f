import { expect, test } from "vitest";
import type { CgroupUsage } from "./cgroup-usage.ts";
import { exposition } from "./exposition.ts";
import { cadvisorFamilies, resourceFamilies, volumeFamilies } from "./families.ts";
import type { PodUsage } from "./pod-usage.ts";

const used = (cpuSeconds: number): CgroupUsage => ({
  cpuSeconds,
  memoryBytes: 30,
  workingSetBytes: 20,
  rssBytes: 10,
  cacheBytes: 5,
  processes: 2,
});
const traffic = (bytes: number) => ({ bytes, packets: 1, errors: 0, dropped: 0 });
const pod: PodUsage = {
  namespace: "default",
  name: "web",
  uid: "u",
  cgroup: "/box/u",
  used: used(3),
  main: { name: "main", id: "u_main_0" },
  containers: [
    {
      name: "main",
      id: "u_main_0",
      cgroup: "/box/u/main",
      image: "host",
      startedAtMs: 1500,
      used: used(2),
      diskBytes: 7,
    },
  ],
  network: { received: traffic(100), sent: traffic(50) },
  diskBytes: 9,
  claims: [{ name: "data", bytes: 100, usedBytes: 130 }],
};
const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("the metrics of /metrics/resource", () => {
  expect(lines(exposition(resourceFamilies([pod], { cpuSeconds: 8, workingSetBytes: 90 })))).toEqual([
    'container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 2',
    'container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 20',
    'container_start_time_seconds{container="main",namespace="default",pod="web"} 1.5',
    'pod_cpu_usage_seconds_total{namespace="default",pod="web"} 3',
    'pod_memory_working_set_bytes{namespace="default",pod="web"} 20',
    "node_cpu_usage_seconds_total 8",
    "node_memory_working_set_bytes 90",
    "resource_scrape_error 0",
  ]);
});

test("the metrics of /metrics/cadvisor for Pods and containers", () => {
  const said = lines(exposition(cadvisorFamilies([pod])));
  const main = 'container="main",id="/box/u/main",image="host",name="u_main_0",namespace="default",pod="web"';
  const whole = 'container="",id="/box/u",image="",name="",namespace="default",pod="web"';
  expect(said).toEqual(
    expect.arrayContaining([
      `container_cpu_usage_seconds_total{cpu="total",${whole}} 3`,
      `container_cpu_usage_seconds_total{cpu="total",${main}} 2`,
      `container_memory_rss{${main}} 10`,
      `container_fs_usage_bytes{${main}} 7`,
      `container_fs_usage_bytes{${whole}} 9`,
      `container_network_receive_bytes_total{interface="eth0",${whole}} 100`,
      `container_network_transmit_bytes_total{interface="eth0",${whole}} 50`,
      `container_network_receive_packets_dropped_total{interface="eth0",${whole}} 0`,
    ]),
  );
});

test("volume metrics have one sample per claim", () => {
  expect(lines(exposition(volumeFamilies([pod, { ...pod, name: "other" }])))).toEqual([
    'kubelet_volume_stats_capacity_bytes{namespace="default",persistentvolumeclaim="data"} 100',
    'kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="data"} 130',
    'kubelet_volume_stats_available_bytes{namespace="default",persistentvolumeclaim="data"} 0',
  ]);
});

test("names are escaped in labels, and no Pods give no families", () => {
  const sample = { labels: { a: 'x"} 1\nfake 2\\' }, value: 1 };
  const text = exposition([{ name: "m", help: "h", type: "gauge", samples: [sample] }]);
  expect(lines(text)).toEqual(['m{a="x\\"} 1\\nfake 2\\\\"} 1']);
  expect(exposition(cadvisorFamilies([]))).toBe("");
});
