import {
  type Condition,
  findCondition,
  isConditionTrue,
  type SandboxClaim,
  type SandboxTemplate,
  sandboxClaims,
  sandboxTemplates,
} from "@agent-sandbox/api";
import { pods } from "@agent-sandbox/controllers";
import { beforeAll, expect, test } from "vitest";
import { type ClaimCluster, namespace } from "./claim-cluster.ts";

const claimReady = (claim: SandboxClaim | undefined): Condition | undefined =>
  findCondition(claim?.status?.conditions, "Ready");
const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const volume = (name: string): NonNullable<SandboxClaim["spec"]["volumeClaimTemplates"]> => [
  { metadata: { name }, spec: storage },
];

/** What a claim may change of its Sandbox. Part of claim-suite.ts. */
export function describeCustomisation(getCluster: () => ClaimCluster): void {
  let cluster: ClaimCluster;
  beforeAll(() => {
    cluster = getCluster();
  });

  /** A pool without members, whose template is changed. */
  async function emptyPool(name: string, template: Partial<SandboxTemplate["spec"]> = {}): Promise<void> {
    await cluster.createPool(name, 0);
    const body = { spec: template };
    await cluster.client.patch(sandboxTemplates, { namespace, name }, { type: "merge", body });
  }
  const untilRefused = (name: string, reason: string): Promise<void> =>
    cluster.until(() => claimReady(cluster.claim(name))?.reason === reason);
  const untilReady = (name: string): Promise<void> =>
    cluster.until(() => isConditionTrue(cluster.claim(name)?.status?.conditions, "Ready"));
  const environment = async (name: string): Promise<unknown[]> => {
    const { spec } = await cluster.client.get(pods, { namespace, name });
    return (spec?.containers[0]?.env ?? []).map((variable) => [variable.name, variable.value]);
  };
  const withVariables = (env: Readonly<Record<string, string>>): Partial<SandboxTemplate["spec"]> => ({
    podTemplate: { spec: cluster.podSpec(env) },
  });

  test("metadata with an invalid or reserved key is rejected, and nothing is created (CUSTOM-1, CUSTOM-5)", async () => {
    await emptyPool("meta-rules");
    await cluster.createClaim("bad-key", "meta-rules", { additionalPodMetadata: { labels: { "not a key": "x" } } });
    const reserved = { annotations: { "agents.x-k8s.io/pod-name": "x" } };
    await cluster.createClaim("reserved-key", "meta-rules", { additionalPodMetadata: reserved });
    for (const name of ["bad-key", "reserved-key"]) {
      await untilRefused(name, "InvalidMetadata");
      expect(cluster.sandbox(name)).toBeUndefined();
    }
  });

  test("allowed metadata reaches the Pod, also when it is added later (CUSTOM-3, CUSTOM-4)", async () => {
    await emptyPool("meta-allowed");
    await cluster.createClaim("noted", "meta-allowed", { additionalPodMetadata: { annotations: { note: "one" } } });
    await untilReady("noted");
    const noteOf = (): string | undefined => cluster.pod("noted")?.metadata?.annotations?.["note"];
    await cluster.until(() => noteOf() === "one");
    await cluster.editClaim("noted", { additionalPodMetadata: { annotations: { note: "one", more: "two" } } });
    await cluster.until(() => cluster.pod("noted")?.metadata?.annotations?.["more"] === "two");
    expect(noteOf()).toBe("one");
  });

  test("a claim may repeat a value of its template, but not contradict it (CUSTOM-6)", async () => {
    const metadata = { annotations: { tier: "gold" } };
    await emptyPool("meta-fixed", { podTemplate: { metadata, spec: cluster.podSpec() } });
    await cluster.createClaim("agrees", "meta-fixed", { additionalPodMetadata: metadata });
    const other = { annotations: { tier: "lead" } };
    await cluster.createClaim("contradicts", "meta-fixed", { additionalPodMetadata: other });
    await untilReady("agrees");
    await cluster.until(() => claimReady(cluster.claim("contradicts"))?.status === "False");
    expect(cluster.sandbox("contradicts")).toBeUndefined();
  });

  test("variables need a policy of the template that allows them (CUSTOM-7, CUSTOM-8)", async () => {
    const env = [{ name: "MODE", value: "new" }];
    const added = [{ name: "EXTRA", value: "1" }];
    for (const policy of [undefined, "Allowed", "Overrides"] as const) {
      const name = `env-${(policy ?? "none").toLowerCase()}`;
      const more = policy === undefined ? {} : { envVarsInjectionPolicy: policy };
      await emptyPool(name, { ...withVariables({ MODE: "old", LAST: "x" }), ...more });
      await cluster.createClaim(`${name}-same`, name, { env });
      await cluster.createClaim(`${name}-added`, name, { env: added });
    }
    for (const [name, reason] of [
      ["env-none-same", "EnvVarsInjectionRejected"],
      ["env-none-added", "EnvVarsInjectionRejected"],
      ["env-allowed-same", "ReconcilerError"],
    ] as const) {
      await untilRefused(name, reason);
      expect(cluster.sandbox(name)).toBeUndefined();
    }
    for (const name of ["env-allowed-added", "env-overrides-same", "env-overrides-added"]) await untilReady(name);
    const old = ["MODE", "old"];
    const last = ["LAST", "x"];
    expect(await environment("env-allowed-added")).toEqual([old, last, ["EXTRA", "1"]]);
    expect(await environment("env-overrides-added")).toEqual([old, last, ["EXTRA", "1"]]);
    expect(await environment("env-overrides-same")).toEqual([["MODE", "new"], last]);
  });

  test("volumes need a policy of the template that allows them, and distinct names (CUSTOM-11, CUSTOM-13)", async () => {
    await emptyPool("volumes-none");
    await emptyPool("volumes-allowed", { volumeClaimTemplatesPolicy: "Allowed" });
    await cluster.createClaim("no-volumes", "volumes-none", { volumeClaimTemplates: volume("data") });
    await cluster.createClaim("same-volumes", "volumes-allowed", {
      volumeClaimTemplates: [...volume("data"), ...volume("data")],
    });
    await cluster.createClaim("without-volumes", "volumes-none");
    for (const name of ["no-volumes", "same-volumes"]) {
      await untilRefused(name, "VolumeClaimTemplatesError");
      expect(cluster.sandbox(name)).toBeUndefined();
    }
    expect(await untilReady("without-volumes")).toBeUndefined();
    await cluster.createClaim("own-volume", "volumes-allowed", { volumeClaimTemplates: volume("data") });
    await untilReady("own-volume");
    const { spec } = await cluster.client.get(pods, { namespace, name: "own-volume" });
    expect(spec?.volumes?.find(({ name }) => name === "data")?.persistentVolumeClaim?.claimName).toBe(
      "data-own-volume",
    );
  });

  test("claims beyond the free members get new Sandboxes, and a bound claim takes no more (CLAIM-20, CLAIM-21)", async () => {
    await cluster.createPool("single", 1);
    await cluster.until(() => cluster.readyMembers("single") === 1);
    const names = ["single-1", "single-2", "single-3"];
    await Promise.all(names.map((name) => cluster.createClaim(name, "single")));
    for (const name of names) await untilReady(name);
    const bound = names.map((name) => cluster.claim(name)?.status?.sandbox?.name);
    expect(new Set(bound).size).toBe(names.length);
    await cluster.until(() => cluster.readyMembers("single") === 1);
    const [member] = cluster.members("single");
    await cluster.client.patch(
      sandboxClaims,
      { namespace, name: "single-1" },
      {
        type: "merge",
        body: { metadata: { labels: { touched: "yes" } } },
      },
    );
    await cluster.until(() => cluster.claim("single-1")?.metadata.labels?.["touched"] === "yes");
    expect(cluster.claim("single-1")?.status?.sandbox?.name).toBe(bound[0]);
    expect(cluster.members("single").map(({ metadata }) => metadata.uid)).toEqual([member?.metadata.uid]);
  });
}
