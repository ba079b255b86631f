import {
  type Sandbox,
  type SandboxClaim,
  type SandboxClaimSpec,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClaimCluster, namespace } from "./claim-cluster.ts";
import { type ClaimServer, startEmbedded } from "./claim-servers.ts";

const longest = "n".repeat(253);
const reasonOf = (claim: SandboxClaim | undefined): string | undefined =>
  claim?.status?.conditions?.find(({ type }) => type === "Ready")?.reason;

describe("hostile claims on the embedded API server", () => {
  let server: ClaimServer;
  let cluster: ClaimCluster;
  beforeAll(async () => {
    server = await startEmbedded();
    cluster = new ClaimCluster(server);
    await cluster.startControllers();
    await cluster.createPool("pool", 1);
    await cluster.until(() => cluster.readyMembers() === 1);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  /** Returns the reported reason, after checking that the claim can be deleted with all that it owns. */
  async function verdictOn(
    name: string,
    spec: Partial<SandboxClaimSpec>,
    metadata: SandboxClaim["metadata"] = {},
  ): Promise<string | undefined> {
    await cluster.client.create(sandboxClaims, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { ...metadata, name, namespace },
      spec: { warmPoolRef: { name: "pool" }, ...spec },
    });
    await cluster.until(
      () => !["SandboxNotReady", "DependenciesNotReady", undefined].includes(reasonOf(cluster.claim(name))),
    );
    const reason = reasonOf(cluster.claim(name));
    await cluster.client.delete(sandboxClaims, { namespace, name });
    await cluster.until(() => cluster.claim(name) === undefined);
    return reason;
  }

  test.for([
    ["a pool in another namespace", { warmPoolRef: { name: "kube-system/pool" } }, {}, "WarmPoolNotFound"],
    ["a pool with a path for a name", { warmPoolRef: { name: "../../pool" } }, {}, "WarmPoolNotFound"],
    ["a pool without name", { warmPoolRef: { name: "" } }, {}, "WarmPoolNotFound"],
    ["the router's label", { additionalPodMetadata: { labels: { app: "sandbox-router" } } }, {}, "InvalidMetadata"],
    [
      "a reserved label",
      { additionalPodMetadata: { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": "0" } } },
      {},
      "InvalidMetadata",
    ],
    [
      "a label named like a prototype",
      { additionalPodMetadata: { labels: { __proto__x: "a" } } },
      {},
      "InvalidMetadata",
    ],
    ["variables that refer to themselves", { env: [{ name: "X", value: "$(X)$(X)" }] }, {}, "EnvVarsInjectionRejected"],
    [
      "a volume without name",
      { volumeClaimTemplates: [{ spec: { accessModes: ["ReadWriteOnce"] } }] },
      {},
      "VolumeClaimTemplatesError",
    ],
    [
      "a path as reference",
      {},
      { annotations: { "agents.x-k8s.io/sandbox-name": "../../secrets" } },
      "DependenciesReady",
    ],
    ["a very early end", { lifecycle: { shutdownTime: "0001-01-01T00:00:00Z" } }, {}, "ClaimExpired"],
    [
      "a very late end",
      { lifecycle: { shutdownTime: "9999-12-31T23:59:59+14:00", ttlSecondsAfterFinished: 2147483647 } },
      {},
      "DependenciesReady",
    ],
    [
      "forged labels of the system",
      {},
      { labels: { "agents.x-k8s.io/warm-pool-sandbox": "0", "agents.x-k8s.io/claim-uid": "0" } },
      "DependenciesReady",
    ],
  ] as const)("reports a claim with %s, which can be deleted (ABUSE-11)", async ([name, spec, metadata, reason]) => {
    expect(await verdictOn(name.replaceAll(/[^a-z]/g, "-"), spec as Partial<SandboxClaimSpec>, metadata)).toBe(reason);
  });

  test("serves claims and pools with names of 253 characters (ABUSE-4)", async () => {
    await cluster.createPool(longest, 1);
    const policies = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      plural: "networkpolicies",
      namespaced: true,
    };
    await cluster.until(() => cluster.readyMembers() === 2);
    expect(await verdictOn(longest, { warmPoolRef: { name: longest } })).toBe("DependenciesReady");
    expect(await verdictOn(`cold${longest.slice(4)}`, { warmPoolRef: { name: longest } })).toBe("DependenciesReady");
    const { items } = await cluster.client.list(policies, { namespace });
    expect(items.filter(({ metadata }) => metadata?.name?.startsWith("nnn"))).toHaveLength(1);
    await cluster.client.delete(sandboxWarmPools, { namespace, name: longest });
    await cluster.client.delete(sandboxTemplates, { namespace, name: longest });
    await cluster.until(() => cluster.readyMembers() === 1);
  });

  test("ignores a Sandbox that names a pool of another namespace as its owner (ABUSE-11)", async () => {
    const pool = await cluster.client.get(sandboxWarmPools, { namespace, name: "pool" });
    const [member] = (await cluster.client.list(sandboxes, { namespace })).items;
    const { labels, annotations } = member?.metadata ?? {};
    const ownerReferences = [
      { apiVersion: pool.apiVersion, kind: pool.kind, name: "pool", uid: pool.metadata.uid ?? "", controller: true },
    ];
    const forged = {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: {
        name: "forged",
        namespace: "kube-public",
        ownerReferences,
        labels: labels ?? {},
        annotations: annotations ?? {},
      },
      spec: member?.spec ?? { podTemplate: { spec: { containers: [] } } },
    } satisfies Sandbox;
    await cluster.client.create(sandboxes, forged);
    expect(await verdictOn("honest", {})).toBe("DependenciesReady");
    expect(cluster.ledger.boundTo.get("honest")).not.toBe("forged");
  });

  test("gives a claim nothing for a status that names somebody else's Sandbox (ABUSE-11)", async () => {
    await cluster.createClaim("liar", "nowhere");
    await cluster.until(() => reasonOf(cluster.claim("liar")) === "WarmPoolNotFound");
    const patch = { type: "merge", body: { status: { sandbox: { name: "forged" }, conditions: [] } } } as const;
    const lie = await cluster.client.patch(sandboxClaims, { namespace, name: "liar" }, patch, {
      subresource: "status",
    });
    const isNewer = (): boolean =>
      Number(cluster.claim("liar")?.metadata.resourceVersion) > Number(lie.metadata.resourceVersion);
    await cluster.until(isNewer);
    expect([reasonOf(cluster.claim("liar")), cluster.claim("liar")?.status?.sandbox]).toEqual([
      "WarmPoolNotFound",
      undefined,
    ]);
  });
});
