import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiServer, createApiServer } from "@agent-sandbox/apiserver";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { apply } from "./apply.ts";

let root: string;
let server: ApiServer;
let said: string[];
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "apply-"));
  server = await createApiServer();
  (await server.listen()).writeKubeconfig(join(root, "kubeconfig"));
  said = [];
  for (const stream of ["log", "error"] as const) {
    vi.spyOn(console, stream).mockImplementation((line: string) => void said.push(line));
  }
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server.close();
  rmSync(root, { recursive: true });
});

async function applied(...objects: object[]): Promise<void> {
  const filename = join(root, "objects.yaml");
  writeFileSync(filename, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  await apply({ filename: [filename], kubeconfig: join(root, "kubeconfig") });
}

test("applies the objects of served kinds, and names each of the others in one sentence", async () => {
  const named = (apiVersion: string, kind: string, name: string): object => ({ apiVersion, kind, metadata: { name } });
  const manifest = applied(
    named("apps/v1", "Deployment", "controller"),
    named("v1", "ConfigMap", "settings"),
    named("policy/v1", "PodDisruptionBudget", "budget"),
    named("v1", "ServiceAccount", "account"),
  );
  await expect(manifest).rejects.toThrow("2 of 4 objects were not applied");
  expect(said).toEqual([
    `Cannot apply Deployment "controller": the server doesn't have Deployment in apps/v1; a box runs Sandboxes and Pods, and contains the controllers and the router`,
    "configmap/settings created",
    `Cannot apply PodDisruptionBudget "budget": the server doesn't have PodDisruptionBudget in policy/v1`,
    "serviceaccount/account created",
  ]);
});

test("stops at the first object that the server rejects", async () => {
  const bad = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "bad" }, data: [] };
  await expect(applied(bad, { ...bad, metadata: { name: "good" }, data: {} })).rejects.toThrow("data");
  expect(said).toEqual([]);
});

test("calls an object unchanged if the server adds defaults to the items of its lists", async () => {
  const policy = (port: number): object => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "web" },
    spec: { podSelector: {}, ingress: [{ ports: [{ port }] }] },
  });
  for (const port of [80, 80, 443]) await applied(policy(port));
  expect(said).toEqual(
    ["created", "unchanged", "configured"].map((verb) => `networkpolicy.networking.k8s.io/web ${verb}`),
  );
});

const short = (kind: string, name: string, spec: object): object => ({
  apiVersion: "agents.x-k8s.io/v1alpha1",
  kind,
  metadata: { name },
  spec,
});
const template = short("SandboxTemplate", "python", {
  template: { spec: { containers: [{ name: "a", image: "b" }] } },
});

async function specOf(plural: string, name: string): Promise<unknown> {
  const path = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/${plural}/${name}`;
  return ((await server.transport.send({ method: "GET", path })).body as { spec?: unknown }).spec;
}

test("converts short forms, and gives a claim a pool of its template", async () => {
  const pool = short("SandboxWarmPool", "warm", { size: 2, template: "python" });
  await applied(template, pool, short("SandboxClaim", "mine", { template: "python" }));
  expect(said).toContain(
    'Converted SandboxWarmPool "warm": agents.x-k8s.io/v1alpha1 became extensions.agents.x-k8s.io/v1beta1, spec.size became spec.replicas, spec.template became spec.sandboxTemplateRef',
  );
  expect(await specOf("sandboxwarmpools", "warm")).toEqual({ replicas: 2, sandboxTemplateRef: { name: "python" } });
  expect(await specOf("sandboxclaims", "mine")).toEqual({ warmPoolRef: { name: "warm" } });
});

test("creates an empty pool for the claims of a template without one, once", async () => {
  const claim = (name: string): object => short("SandboxClaim", name, { template: "python" });
  await applied(template, claim("a"), claim("b"));
  expect(await specOf("sandboxwarmpools", "shadow-pool-python")).toEqual({
    replicas: 0,
    sandboxTemplateRef: { name: "python" },
  });
  for (const name of ["a", "b"]) {
    expect(await specOf("sandboxclaims", name)).toEqual({ warmPoolRef: { name: "shadow-pool-python" } });
  }
});

test("says that the refused object was converted, and what is missing", async () => {
  await expect(applied(short("SandboxClaim", "mine", { template: "none" }))).rejects.toThrow(
    'Cannot apply SandboxClaim "mine" in its converted form: there is no SandboxTemplate "none" in namespace "default": apply it first',
  );
  const unknown = short("SandboxWarmPool", "warm", { size: 1, template: "python", color: "red" });
  await expect(applied(unknown)).rejects.toThrow(/SandboxWarmPool "warm" in its converted form: .*color/);
});
