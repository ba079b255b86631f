import {
  type Condition,
  findCondition,
  isConditionTrue,
  nameHash,
  type Sandbox,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import { controllerOf, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { beforeAll, expect, test } from "vitest";
import { type ClaimCluster, namespace } from "./claim-cluster.ts";

const networkPolicies: Resource = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};
const patience = { timeout: 100_000, interval: 100 };
type Reporting = { readonly status?: { readonly conditions?: readonly Condition[] } };

const ready = (object: Reporting | undefined): Condition | undefined =>
  findCondition(object?.status?.conditions, "Ready");
const isReady = (object: Reporting | undefined): boolean => isConditionTrue(object?.status?.conditions, "Ready");
const versionOf = ({ spec }: Sandbox): string | undefined => spec.podTemplate.spec?.containers[0]?.env?.[0]?.value;
const nameOf = ({ metadata }: KubeObject): string => metadata?.name ?? "";

/** Pools, templates and claims beyond what claim-suite.ts counts, of which this is a part. */
export function describePools(getCluster: () => ClaimCluster): void {
  let cluster: ClaimCluster;
  beforeAll(() => {
    cluster = getCluster();
  });

  const at = (name: string) => ({ namespace, name });
  const merge = <T extends KubeObject>(resource: Resource<T>, name: string, body: object): Promise<T> =>
    cluster.client.patch(resource, at(name), { type: "merge", body });
  const remove = (resource: Resource, name: string): Promise<unknown> => cluster.client.delete(resource, at(name));
  const lookUp = <T extends KubeObject>(resource: Resource<T>, name: string): Promise<T | string> =>
    cluster.client.get(resource, at(name)).catch(({ reason }: { reason: string }) => reason);
  const untilFull = (pool: string, size: number): Promise<void> =>
    cluster.until(() => {
      const { spec, status } = cluster.pool(pool) ?? {};
      const counts = [spec?.replicas, status?.replicas, status?.readyReplicas];
      return [...counts, cluster.readyMembers(pool), cluster.members(pool).length].every((count) => count === size);
    });
  const bound = (claim: SandboxClaim | undefined): string => claim?.status?.sandbox?.name ?? "";
  /** The Sandbox of a claim, once the claim is Ready. */
  const served = async (claim: string, isWanted: (sandbox: string) => boolean = () => true): Promise<string> => {
    await cluster.until(() => isReady(cluster.claim(claim)) && isWanted(bound(cluster.claim(claim))));
    return bound(cluster.claim(claim));
  };

  test("a pool is scaled by its subresource, and reports its members (POOL-1, POOL-11, POOL-12)", async () => {
    await cluster.createPool("scaled", 1);
    await untilFull("scaled", 1);
    const scale = (replicas: number): Promise<unknown> =>
      cluster.client.patch(
        sandboxWarmPools,
        at("scaled"),
        { type: "merge", body: { spec: { replicas } } },
        { subresource: "scale" },
      );
    await scale(3);
    await untilFull("scaled", 3);
    const { metadata, status } = cluster.pool("scaled") ?? {};
    expect(status?.observedGeneration).toBe(metadata?.generation);
    const { items } = await cluster.client.list(sandboxes, { namespace, labelSelector: status?.selector ?? "" });
    expect(items.map(nameOf).sort()).toEqual(cluster.members("scaled").map(nameOf).sort());
    await scale(1);
    await untilFull("scaled", 1);
    await scale(0);
    await untilFull("scaled", 0);
    expect(cluster.pool("scaled")?.status).toMatchObject({ replicas: 0, readyReplicas: 0 });
  });

  test("a member that lost its owner is adopted again, and another Sandbox of the label is deleted (POOL-4, POOL-6)", async () => {
    await cluster.createPool("adopting", 1);
    await untilFull("adopting", 1);
    const [member] = cluster.members("adopting");
    const { name = "", labels = {} } = member?.metadata ?? {};
    const label = { [warmPoolSandboxLabel]: labels[warmPoolSandboxLabel] ?? "" };
    await merge(sandboxes, name, { metadata: { ownerReferences: null } });
    await cluster.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { ...at("intruder"), labels: label },
      spec: { podTemplate: { spec: cluster.podSpec({ VERSION: "mine" }) } },
    });
    await cluster.until(() => cluster.members("adopting").map(nameOf).join() === name);
    await expect.poll(() => lookUp(sandboxes, "intruder"), patience).toBe("NotFound");
    expect(await lookUp(sandboxes, name)).toMatchObject({ metadata: { uid: member?.metadata.uid } });
  });

  test.for([
    ["Recreate replaces all members (POOL-25)", "recreated", "Recreate"],
    ["OnReplenish replaces those that leave, and counts the others (POOL-26, POOL-55)", "kept", "OnReplenish"],
  ] as const)("after a change of the template %s", async ([, pool, type]) => {
    await cluster.createPool(pool, 2, { updateStrategy: { type } });
    await untilFull(pool, 2);
    const [first] = cluster.members(pool);
    const spec = { podTemplate: { spec: cluster.podSpec({ VERSION: "2" }) } };
    await merge(sandboxTemplates, pool, { spec });
    const outdated = (): number => cluster.pool(pool)?.status?.outdatedReplicas ?? 0;
    if (type === "OnReplenish") {
      await cluster.until(() => outdated() === 2);
      await remove(sandboxes, nameOf(first as Sandbox));
    }
    const left = type === "OnReplenish" ? 1 : 0;
    const older = (): number => cluster.members(pool).filter((member) => versionOf(member) !== "2").length;
    await cluster.until(() => older() === left && outdated() === left);
    await untilFull(pool, 2);
    expect(older()).toBe(left);
    expect(cluster.ledger.broken).toEqual([]);
  });

  test("pool and claim wait for a template that is missing (POOL-13, CLAIM-2)", async () => {
    const spec = { replicas: 1, sandboxTemplateRef: { name: "coming" } };
    await cluster.createClaim("early", "coming");
    await cluster.until(() => ready(cluster.claim("early"))?.reason === "WarmPoolNotFound");
    await cluster.client.create(sandboxWarmPools, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxWarmPool",
      metadata: at("coming"),
      spec,
    });
    await cluster.until(() => ready(cluster.pool("coming"))?.reason === "TemplateNotFound");
    await cluster.until(() => ready(cluster.claim("early"))?.reason === "TemplateNotFound");
    expect(cluster.members("coming")).toEqual([]);
    await cluster.createTemplate("coming");
    await served("early");
    await untilFull("coming", 1);
  });

  test("a template's NetworkPolicy is restored, and deleted when it is not wanted (TEMPLATE-1, TEMPLATE-3, TEMPLATE-4)", async () => {
    await cluster.createPool("guarded", 1);
    await untilFull("guarded", 1);
    const policy = "guarded-network-policy";
    const hash = nameHash("guarded");
    const uidOf = (seen: KubeObject | string): string | undefined =>
      typeof seen === "string" ? undefined : seen.metadata?.uid;
    const first = await cluster.client.get(networkPolicies, at(policy));
    const selector = { matchLabels: { "agents.x-k8s.io/sandbox-template-ref-hash": hash } };
    expect(first).toMatchObject({ spec: { podSelector: selector, policyTypes: ["Ingress", "Egress"] } });
    const [member] = cluster.members("guarded");
    const pod = await cluster.client.get(podKind, at(nameOf(member as Sandbox)));
    expect(pod.metadata?.labels).toMatchObject(selector.matchLabels);
    await remove(networkPolicies, policy);
    const restored = async (): Promise<boolean> => {
      const uid = uidOf(await lookUp(networkPolicies, policy));
      return uid !== undefined && uid !== first.metadata?.uid;
    };
    await expect.poll(restored, patience).toBe(true);
    await merge(sandboxTemplates, "guarded", { spec: { networkPolicyManagement: "Unmanaged" } });
    await expect.poll(() => lookUp(networkPolicies, policy), patience).toBe("NotFound");
  });

  test("Pods of a template get no token of a service account (TEMPLATE-9)", async () => {
    await cluster.createPool("bare", 1);
    await untilFull("bare", 1);
    const [member] = cluster.members("bare");
    const pod = await cluster.client.get(podKind, at(nameOf(member as Sandbox)));
    expect(pod).toMatchObject({ spec: { automountServiceAccountToken: false } });
    expect(JSON.stringify(pod)).not.toContain("/var/run/secrets/kubernetes.io");
  });

  test("a claim keeps its Sandbox without pool and template, and their policy as long as it lives (CLAIM-5, TEMPLATE-7)", async () => {
    await cluster.createPool("leaving", 1);
    await untilFull("leaving", 1);
    const [member] = cluster.members("leaving");
    await cluster.createClaim("staying", "leaving");
    expect(await served("staying")).toBe(nameOf(member as Sandbox));
    await remove(sandboxWarmPools, "leaving");
    await remove(sandboxTemplates, "leaving");
    await cluster.until(() => cluster.pool("leaving") === undefined && cluster.members("leaving").length === 0);
    expect([isReady(cluster.claim("staying")), await served("staying")]).toEqual([true, nameOf(member as Sandbox)]);
    // Where the garbage collector deletes it with the template, it is created again.
    const isKept = async (): Promise<boolean> => {
      const policy = await lookUp(networkPolicies, "leaving-network-policy");
      return typeof policy === "object" && controllerOf(policy) === undefined;
    };
    await expect.poll(isKept, patience).toBe(true);
    await remove(sandboxClaims, "staying");
    await expect.poll(() => lookUp(networkPolicies, "leaving-network-policy"), patience).toBe("NotFound");
  });

  test("a claim takes no Sandbox of its name that it does not control (CLAIM-3)", async () => {
    await cluster.createPool("strict", 1);
    await untilFull("strict", 1);
    await cluster.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: at("occupied"),
      spec: { operatingMode: "Suspended", podTemplate: { spec: cluster.podSpec() } },
    });
    await cluster.until(() => cluster.sandbox("occupied") !== undefined);
    await cluster.createClaim("occupied", "strict");
    await cluster.until(() => ready(cluster.claim("occupied"))?.reason === "ReconcilerError");
    expect(cluster.readyMembers("strict")).toBe(1);
    await remove(sandboxes, "occupied");
    await served("occupied");
  });

  test("a claim with variables gets a Sandbox of its own with them (CLAIM-19)", async () => {
    await cluster.createPool("plain", 1);
    await merge(sandboxTemplates, "plain", { spec: { envVarsInjectionPolicy: "Allowed" } });
    await untilFull("plain", 1);
    await cluster.createClaim("special", "plain", { env: [{ name: "VERSION", value: "3" }] });
    expect(await served("special")).toBe("special");
    expect(versionOf(cluster.sandbox("special") as Sandbox)).toBe("3");
    expect(cluster.readyMembers("plain")).toBe(1);
  });

  test("a taken member loses the pool's label, and a claim that loses it gets another (CLAIM-22, CLAIM-23)", async () => {
    await cluster.createPool("serving", 2);
    await untilFull("serving", 2);
    await cluster.createClaim("robbed", "serving");
    const first = await served("robbed");
    const { metadata } = await cluster.client.get(sandboxes, at(first));
    expect(metadata.labels ?? {}).not.toHaveProperty(warmPoolSandboxLabel);
    expect(controllerOf({ metadata })).toMatchObject({ kind: "SandboxClaim", name: "robbed" });
    await remove(sandboxes, first);
    const second = await served("robbed", (name) => name !== first && name !== "");
    expect(controllerOf(await cluster.client.get(sandboxes, at(second)))).toMatchObject({ name: "robbed" });
    await untilFull("serving", 2);
  });

  test("a retained claim whose end moves into the future gets a new Sandbox (EXPIRE-13, EXPIRE-20)", async () => {
    await cluster.createPool("lasting", 1);
    await untilFull("lasting", 1);
    await cluster.createClaim("extended", "lasting");
    const first = await served("extended");
    const ends = (inMs: number): Promise<void> =>
      cluster.editClaim("extended", {
        lifecycle: { shutdownTime: new Date(Date.now() + inMs).toISOString(), shutdownPolicy: "Retain" },
      });
    await ends(0);
    await cluster.until(() => ready(cluster.claim("extended"))?.reason === "ClaimExpired");
    await cluster.until(() => cluster.sandbox(first) === undefined);
    await ends(3_600_000);
    expect(await served("extended")).not.toBe(first);
  });
}

const podKind: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
