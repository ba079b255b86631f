import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { ManagerMetrics } from "./manager-metrics.ts";

const open = (): ManagerMetrics => new ManagerMetrics({ version: "v1", commit: "abc", date: "today" });

async function series(metrics: ManagerMetrics, name: string): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

const labels = { namespace: "ns", launchType: "warm", sandboxTemplate: "t" } as const;

test("records claim latencies with the reference's names and finer buckets (OBSERVE-13)", async () => {
  const metrics = open();
  const { sandboxclaim } = metrics.forControllers();
  sandboxclaim?.started?.({ ...labels, sinceObservedMs: 7, sinceRequestMs: 130, sandboxCreationMs: 60 });
  sandboxclaim?.served?.({ ...labels, warmPoolName: "p", podCondition: "ready", createdBy: "" });
  const bucket = (le: number | string): string => `{le="${le}",launch_type="warm",sandbox_template="t"}`;
  const observed = await series(metrics, "agent_sandbox_claim_controller_startup_latency_ms_bucket");
  expect(observed.slice(0, 4)).toEqual(
    [1, 2, 5, 10].map(
      (le) => `agent_sandbox_claim_controller_startup_latency_ms_bucket${bucket(le)} ${le === 10 ? 1 : 0}`,
    ),
  );
  const limits = observed.map((line) => /le="([^"]+)"/.exec(line)?.[1]);
  expect(limits.slice(6)).toEqual(
    "100 250 500 750 1000 1250 1500 2000 2500 5000 10000 30000 60000 120000 240000 +Inf".split(" "),
  );
  expect(await series(metrics, "agent_sandbox_client_claim_startup_latency_ms_sum")).toEqual([
    'agent_sandbox_client_claim_startup_latency_ms_sum{launch_type="warm",sandbox_template="t"} 130',
  ]);
  expect(await series(metrics, "agent_sandbox_claim_startup_latency_ms_count")).toEqual([]);
  expect(await series(metrics, "agent_sandbox_creation_latency_ms_sum")).toEqual([
    'agent_sandbox_creation_latency_ms_sum{namespace="ns",launch_type="warm",sandbox_template="t"} 60',
  ]);
  expect(await series(metrics, "agent_sandbox_claim_creation_total")).toEqual([
    'agent_sandbox_claim_creation_total{namespace="ns",sandbox_template="t",launch_type="warm",warmpool_name="p",pod_condition="ready",created_by=""} 1',
  ]);
});

test("adds up the metrics of several sets of controllers (OBSERVE-13)", async () => {
  const metrics = open();
  const [first, second] = [metrics.forControllers(), metrics.forControllers()];
  first.sandbox?.depth?.(5);
  second.sandbox?.depth?.(2);
  first.sandbox?.depth?.(1);
  second.sandbox?.reconciled?.("error", 20);
  expect(await series(metrics, "workqueue_depth")).toContain('workqueue_depth{name="sandbox",controller="sandbox"} 3');
  expect(await series(metrics, "controller_runtime_reconcile_total")).toContain(
    'controller_runtime_reconcile_total{controller="sandbox",result="error"} 1',
  );
  expect(await series(metrics, "controller_runtime_reconcile_errors_total")).toEqual(
    ["sandbox", "sandboxclaim", "sandboxwarmpool", "sandboxtemplate"].map(
      (name) => `controller_runtime_reconcile_errors_total{controller="${name}"} ${name === "sandbox" ? 1 : 0}`,
    ),
  );
});

test("counts Sandboxes at each scrape (OBSERVE-13)", async () => {
  const metrics = open();
  const sandbox = (over: object): Sandbox => ({ metadata: { namespace: "ns", ...over }, spec: {} }) as Sandbox;
  const controlled = [{ apiVersion: "x", kind: "SandboxClaim", name: "c", uid: "u", controller: true }];
  let there = [sandbox({}), sandbox({}), sandbox({ ownerReferences: controlled })];
  metrics.countSandboxes(() => there);
  const row = (owner: string, count: number): string =>
    `agent_sandboxes{namespace="ns",ready_condition="unknown",expired="false",launch_type="cold",sandbox_template="unknown",owned_by="${owner}",created_by=""} ${count}`;
  expect(await series(metrics, "agent_sandboxes")).toEqual([row("None", 2), row("SandboxClaim", 1)]);
  there = [];
  expect(await series(metrics, "agent_sandboxes")).toEqual([]);
});
