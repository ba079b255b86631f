import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, configMaps, pod, pods, sandbox, sandboxes, TestApi } from "../testing/test-api.test.support.ts";

const accept =
  "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box" });
});
afterAll(() => api[Symbol.asyncDispose]());

interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[]; object: { kind: string; metadata: { name: string } } | null }[];
}

async function table(path: string): Promise<Table> {
  return (await api.send("GET", path, undefined, { accept })).body;
}

describe("tables", () => {
  test("show a Pod with the columns of kubectl", async () => {
    await api.create(pods, pod("p"));
    const running = {
      name: "main",
      ready: true,
      restartCount: 2,
      image: "",
      imageID: "",
      state: { running: {} },
      lastState: { terminated: { exitCode: 1, finishedAt: "2025-12-31T23:59:00Z" } },
    };
    await api.merge(`${pods}/p/status`, {
      status: { phase: "Running", podIP: "10.0.0.5", containerStatuses: [running] },
    });
    api.clock.atMs += 65_000;
    const { columnDefinitions, rows } = await table(pods);
    expect(columnDefinitions.filter(({ priority }) => priority === 0).map(({ name }) => name)).toEqual([
      "Name",
      "Ready",
      "Status",
      "Restarts",
      "Age",
    ]);
    expect(rows.map(({ cells }) => cells)).toEqual([
      ["p", "1/1", "Running", "2 (2m5s ago)", "65s", "10.0.0.5", "box", "<none>", "<none>"],
    ]);
    expect(rows[0]?.object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "p" } });
    await api.send("DELETE", `${pods}/p`);
    expect((await table(`${pods}/p`)).rows[0]?.cells[2]).toBe("Terminating");
  });

  test.for([
    [{ phase: "Pending" }, "Pending"],
    [
      { phase: "Pending", containerStatuses: [{ name: "main", state: { waiting: { reason: "ImagePullBackOff" } } }] },
      "ImagePullBackOff",
    ],
    [
      {
        phase: "Running",
        containerStatuses: [{ name: "main", state: { terminated: { reason: "Error", exitCode: 1 } } }],
      },
      "Error",
    ],
    [{ phase: "Failed", containerStatuses: [{ name: "main", state: { terminated: { exitCode: 3 } } }] }, "ExitCode:3"],
    [
      { phase: "Failed", containerStatuses: [{ name: "main", state: { terminated: { exitCode: 137, signal: 9 } } }] },
      "Signal:9",
    ],
    [{ phase: "Failed", reason: "Evicted" }, "Evicted"],
    [{ phase: "Pending", initContainerStatuses: [{ name: "i", state: { running: {} } }] }, "Init:0/1"],
    [
      {
        phase: "Pending",
        initContainerStatuses: [{ name: "i", state: { terminated: { exitCode: 1, reason: "Error" } } }],
      },
      "Init:Error",
    ],
    [
      {
        phase: "Succeeded",
        containerStatuses: [{ name: "main", state: { terminated: { exitCode: 0, reason: "Completed" } } }],
      },
      "Completed",
    ],
  ] as const)("show a Pod with status %j as %s", async ([status, expected]) => {
    const { metadata } = await api.create(pods, pod("", { name: undefined, generateName: "s-" }));
    await api.merge(`${pods}/${metadata.name}/status`, { status });
    expect((await table(`${pods}/${metadata.name}`)).rows[0]?.cells[2]).toBe(expected);
  });

  test("count a sidecar as a container and not as a pending init container", async () => {
    const side = { name: "side", image: "host", restartPolicy: "Always" };
    const { metadata, spec } = pod("", { name: "with-sidecar" }) as { metadata: object; spec: object };
    await api.create(pods, { metadata, spec: { ...spec, initContainers: [side] } });
    const running = { ready: true, started: true, state: { running: {} } };
    const shown = async (status: object): Promise<unknown[] | undefined> => {
      await api.merge(`${pods}/with-sidecar/status`, { status });
      return (await table(`${pods}/with-sidecar`)).rows[0]?.cells.slice(1, 3);
    };
    const starting = { name: "side", ready: false, started: false, state: { running: {} } };
    expect(await shown({ phase: "Pending", initContainerStatuses: [starting] })).toEqual(["0/2", "Init:0/1"]);
    const statuses = {
      initContainerStatuses: [{ name: "side", ...running }],
      containerStatuses: [{ name: "main", ...running }],
    };
    expect(await shown({ phase: "Running", ...statuses })).toEqual(["2/2", "Running"]);
  });

  test("show the columns of a custom kind", async () => {
    await api.create(sandboxes, sandbox("s"));
    const condition = {
      type: "Ready",
      status: "False",
      reason: "Starting",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    await api.merge(`${sandboxes}/s/status`, { status: { conditions: [condition] } });
    const { columnDefinitions, rows } = await table(`${sandboxes}/s`);
    expect(columnDefinitions.map(({ name }) => name)).toEqual(["Name", "Ready", "Reason", "Age"]);
    expect(rows[0]?.cells.slice(0, 3)).toEqual(["s", "False", "Starting"]);
  });

  test("show every built-in kind", async () => {
    for (const path of [
      "/api/v1/namespaces",
      "/api/v1/nodes",
      "/api/v1/events",
      "/api/v1/services",
      "/api/v1/secrets",
      "/apis/coordination.k8s.io/v1/leases",
      "/apis/networking.k8s.io/v1/networkpolicies",
      "/apis/node.k8s.io/v1/runtimeclasses",
      "/api/v1/persistentvolumeclaims",
      "/api/v1/serviceaccounts",
    ]) {
      expect((await table(path)).columnDefinitions.length).toBeGreaterThan(1);
    }
  });

  test("are sent in watches, with column definitions only in the first event", async () => {
    await api.create(configMaps, configMap("one"));
    await api.create(configMaps, configMap("two"));
    const stop = new AbortController();
    const { events } = await api.server.transport.stream({
      method: "GET",
      path: `${configMaps}?watch=true`,
      headers: { accept },
      signal: stop.signal,
    });
    const seen: Table[] = [];
    for await (const batch of events ?? []) {
      seen.push(...batch.map(({ object }) => object as unknown as Table));
      if (seen.length === 2) stop.abort();
    }
    expect(seen.map(({ rows }) => rows[0]?.cells[0])).toEqual(["one", "two"]);
    expect(seen.map(({ columnDefinitions }) => columnDefinitions?.length ?? 0)).toEqual([3, 0]);
  });

  test("include the object as requested by includeObject", async () => {
    await api.send("POST", configMaps, configMap("one"));
    expect((await table(`${configMaps}/one?includeObject=Object`)).rows[0]?.object?.kind).toBe("ConfigMap");
    expect((await table(`${configMaps}/one?includeObject=None`)).rows[0]?.object).toBeNull();
  });

  test("are sent only on request", async () => {
    expect((await api.send("GET", configMaps, undefined, { accept: "application/json" })).body.kind).toBe(
      "ConfigMapList",
    );
    const unheard = "application/json;as=Chart;v=v1;g=meta.k8s.io";
    expect((await api.send("GET", configMaps, undefined, { accept: unheard })).status).toBe(406);
  });
});
