import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun, testedRuntimes } from "../testing/runtimes.ts";
import { isReady } from "../testing/test-api.ts";
import { openTestBox, soon, type TestBox } from "../testing/test-box.ts";

describe.skipIf(cannotRun)("metrics of Pods", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({ diskCheckMs: 200 });
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const scrape = async (path: string): Promise<Map<string, number>> => {
    const said = await text(await box.node.podStreams.metrics(path));
    return new Map(
      said.split("\n").flatMap((line): [string, number][] => {
        const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
        const [pod = "", container = ""] = ["pod", "container"].map(
          (key) => new RegExp(`\\b${key}="([^"]*)"`).exec(labels)?.[1],
        );
        return name === undefined
          ? []
          : [[[name, pod, container].filter((part) => part !== "").join(" "), Number(value)]];
      }),
    );
  };

  test.for(testedRuntimes)("%s: CPU, memory, disk, network and processes are measured", async (runtime) => {
    const name = `busy-${runtime}`;
    const work =
      "head -c 20000000 /dev/urandom > /data; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep infinity";
    const containers = [{ name: "main", image: "host", command: ["sh", "-c", work] }];
    await box.create(name, { spec: { runtimeClassName: runtime, containers } });
    await box.api.until(name, isReady);
    // The query to the node's name server causes traffic.
    await box.shell(name, `getent hosts ${name} || true`);
    const counted = async (): Promise<number> =>
      (await scrape("/metrics/cadvisor")).get(`container_fs_usage_bytes ${name} main`) ?? 0;
    await expect.poll(counted, soon).toBeGreaterThanOrEqual(20_000_000);
    const [cadvisor, resource] = [await scrape("/metrics/cadvisor"), await scrape("/metrics/resource")];
    const figures = {
      cpu: resource.get(`container_cpu_usage_seconds_total ${name} main`),
      memory: resource.get(`container_memory_working_set_bytes ${name} main`),
      podCpu: resource.get(`pod_cpu_usage_seconds_total ${name}`),
      nodeMemory: resource.get("node_memory_working_set_bytes"),
      received: cadvisor.get(`container_network_receive_bytes_total ${name}`),
      sent: cadvisor.get(`container_network_transmit_bytes_total ${name}`),
      processes: cadvisor.get(`container_processes ${name} main`),
      started: cadvisor.get(`container_start_time_seconds ${name} main`),
    };
    expect(Object.entries(figures).filter(([, value]) => !(Number(value) > 0))).toEqual([]);
    await box.remove(name);
    expect([...(await scrape("/metrics/cadvisor")).keys()]).toEqual([]);
  });

  test("other paths of a kubelet are not found", async () => {
    await expect(box.node.podStreams.metrics("/run/default/pod/main")).rejects.toMatchObject({ reason: "NotFound" });
  });
});
