import { choosePool, type SandboxClaim, type SandboxTemplate, type SandboxWarmPool } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { bindingOutcome } from "./claim.ts";
import { poolTable, scalePool } from "./pool.ts";
import { templateTable } from "./template.ts";

const apiVersion = "extensions.agents.x-k8s.io/v1beta1";
const creationTimestamp = "2026-01-01T00:00:00Z";
const now = Date.parse("2026-01-01T00:01:00Z");

const pool = (name: string, template: string, more: { replicas?: number; status?: object } = {}): SandboxWarmPool => ({
  apiVersion,
  kind: "SandboxWarmPool",
  metadata: { name, namespace: "default", creationTimestamp },
  spec: { sandboxTemplateRef: { name: template }, ...(more.replicas !== undefined && { replicas: more.replicas }) },
  ...(more.status && { status: more.status }),
});

const claim = (more: { pool?: string; namespace?: string; status?: object } = {}): SandboxClaim => ({
  apiVersion,
  kind: "SandboxClaim",
  metadata: { name: "mine", namespace: more.namespace ?? "default" },
  spec: { warmPoolRef: { name: more.pool ?? "python" } },
  ...(more.status && { status: more.status }),
});

const notReady = (reason: string, message: string): object => ({
  conditions: [{ type: "Ready", status: "False", reason, message }],
});

test("the table of pools says how many members are ready and why not all", () => {
  const ready = {
    readyReplicas: 2,
    outdatedReplicas: 1,
    conditions: [{ type: "Ready", status: "True", reason: "MembersReady" }],
  };
  const pools = [
    pool("python", "python", { replicas: 2, status: ready }),
    pool("broken", "gone", { status: notReady("TemplateNotFound", "SandboxTemplate \u001b[31m not found") }),
    pool("new", "python"),
  ];
  const claims = [claim(), claim(), claim({ pool: "new", namespace: "other" })];
  expect(poolTable(pools, claims, { now, namespaces: false })).toBe(
    `NAME     TEMPLATE   READY   WANTED   OUTDATED   CLAIMS   AGE   WHY
python   python     2       2        1          2        60s   <none>
broken   gone       0       1        0          0        60s   SandboxTemplate ^[[31m not found
new      python     0       1        0          0        60s   not observed yet`,
  );
});

test("the table of templates names image, runtime, depth and pools", () => {
  const template = (name: string, namespace: string, spec: object): SandboxTemplate =>
    ({
      apiVersion,
      kind: "SandboxTemplate",
      metadata: { name, namespace, creationTimestamp },
      spec,
    }) as SandboxTemplate;
  const podTemplate = { spec: { containers: [{ name: "a", image: "debian:12" }], runtimeClassName: "gvisor" } };
  const templates = [
    template("python", "default", { podTemplate, suspendPolicy: { depth: "Memory" } }),
    template("python", "other", { podTemplate: { spec: { containers: [] } } }),
  ];
  expect(templateTable(templates, [pool("a", "python"), pool("b", "python")], { now, namespaces: true })).toBe(
    `NAMESPACE   NAME     IMAGE       RUNTIME     DEPTH       POOLS    AGE
default     python   debian:12   gvisor      Memory      a,b      60s
other       python   <none>      <default>   <default>   <none>   60s`,
  );
});

test.for([
  ["the pool named like the template", [pool("a", "t"), pool("t", "t", { replicas: 0 })], "t"],
  ["otherwise the first pool with members", [pool("c", "t"), pool("b", "t"), pool("a", "t", { replicas: 0 })], "b"],
  ["otherwise an empty pool", [pool("b", "other"), pool("shadow-pool-t", "t", { replicas: 0 })], "shadow-pool-t"],
  ["none", [pool("t", "other")], undefined],
] as const)("a claim of a template takes %s", ([, pools, expected]) => {
  expect(choosePool(pools, "t")).toBe(expected);
});

test.for([
  ["a sandbox", { sandbox: { name: "python-x" } }, { type: "done", value: "python-x" }],
  ["nothing yet", undefined, { type: "waiting", why: "waiting for a sandbox" }],
  [
    "no template",
    notReady("TemplateNotFound", 'SandboxTemplate "x" not found'),
    { type: "failed", why: 'it gets no sandbox: SandboxTemplate "x" not found' },
  ],
  ["a conflict", notReady("AdoptionConflict", ""), { type: "waiting", why: "AdoptionConflict" }],
] as const)("a claim with %s", ([, status, expected]) => {
  expect(bindingOutcome(claim(status && { status }))).toEqual(expected);
});

test.for(["-1", "1.5", "", "many", "10001", "1e3", "0x10"])("a pool is not scaled to %j", async (count) => {
  await expect(scalePool("python", count, {})).rejects.toThrow(`Cannot scale to "${count}"`);
});
