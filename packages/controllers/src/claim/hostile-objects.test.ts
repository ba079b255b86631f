import {
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { isControlledBy, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimOf, poolOf, templateOf } from "../extensions.test.support.ts";
import { ClaimWorld } from "./claim-world.test.support.ts";

const hostile = { namespace: "hostile", name: "bad" };

describe("malformed claims, pools and templates", () => {
  let world: ClaimWorld;
  beforeEach(async () => {
    world = new ClaimWorld();
    world.runPods();
    world.startAll();
    await world.template();
    await world.pool();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** The neighbours are served as ever, and the object can be deleted. */
  async function harmsNobody<T extends KubeObject>(resource: Resource<T>): Promise<void> {
    await world.clock.advance(30_000);
    expect(world.members()).toHaveLength(3);
    await world.claim("neighbour");
    await world.clock.runUntil(() => world.ready("neighbour")?.status === "True", { withinMs: 1_000 });
    await world.user.delete(resource, hostile);
    await world.clock.advance(1_000);
    expect(world.server.read(resource, hostile)).toBeUndefined();
  }

  const specs: [what: string, spec: unknown][] = [
    ["no spec", undefined],
    ["null as spec", null],
    ["a list as spec", []],
    ["an empty spec", {}],
    ["null as references", { warmPoolRef: null, sandboxTemplateRef: null, podTemplate: null }],
    ["numbers as references", { warmPoolRef: 1, sandboxTemplateRef: 1, podTemplate: 1 }],
  ];

  test.for(specs)("reports a claim with %s (ABUSE-9)", async ([, spec]) => {
    await world.user.create(sandboxClaims, { ...claimOf(), metadata: hostile, spec } as unknown as SandboxClaim);
    await world.clock.advance(60_000);
    expect(world.server.read(sandboxClaims, hostile)?.status?.conditions).toMatchObject([
      {
        type: "Ready",
        status: "False",
        reason: expect.stringMatching(/^(ReconcilerError|WarmPoolNotFound)$/) as unknown,
      },
    ]);
    await harmsNobody(sandboxClaims);
  });

  test.for([
    ["a string as lifecycle", { lifecycle: "soon" }],
    ["a number as shutdownTime", { lifecycle: { shutdownTime: 7 } }],
    ["a string as variables", { env: "A=1" }],
    ["null among its variables", { env: [null] }],
    ["null among its volumes", { volumeClaimTemplates: [null] }],
    ["null as label value", { additionalPodMetadata: { labels: { "sandbox.users.io/a": null } } }],
    ["a number as label value", { additionalPodMetadata: { labels: { "sandbox.users.io/a": 1 } } }],
  ])("serves a claim with %s or reports why not (ABUSE-9)", async ([, spec]) => {
    const claim = { ...claimOf(spec as object), metadata: hostile } as unknown as SandboxClaim;
    await world.template({ envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed" }, "hostile");
    await world.pool({ replicas: 0 }, "hostile");
    await world.user.create(sandboxClaims, claim);
    await world.clock.advance(60_000);
    expect(world.server.read(sandboxClaims, hostile)?.status?.conditions).toMatchObject([
      { type: "Ready", reason: expect.stringMatching(/^[A-Z]\w+$/) as unknown },
    ]);
    await harmsNobody(sandboxClaims);
  });

  test.for(specs)("reports a pool with %s (ABUSE-9)", async ([, spec]) => {
    await world.user.create(sandboxWarmPools, { ...poolOf(), metadata: hostile, spec } as unknown as SandboxWarmPool);
    await world.clock.advance(60_000);
    expect(
      world.server.read(sandboxWarmPools, hostile)?.status?.conditions?.find(({ type }) => type === "Ready"),
    ).toMatchObject({
      status: "False",
      reason: expect.stringMatching(/^(ReconcilerError|TemplateNotFound)$/) as unknown,
    });
    await harmsNobody(sandboxWarmPools);
  });

  test.for(specs)("reports a template with %s on its pool and its claims (ABUSE-9)", async ([, spec]) => {
    const template = { ...templateOf(), metadata: { ...hostile, name: "test-template" }, spec };
    await world.user.create(sandboxTemplates, template as unknown as SandboxTemplate);
    await world.pool({ replicas: 1 }, "hostile");
    await world.user.create(sandboxClaims, { ...claimOf(), metadata: hostile });
    await world.clock.advance(60_000);
    const ready = [sandboxWarmPools, sandboxClaims].map((resource) => {
      const name = resource === sandboxWarmPools ? "pool" : "bad";
      const object = world.server.read<KubeObject>(resource, { namespace: "hostile", name });
      const { conditions } = (object as SandboxClaim | undefined)?.status ?? {};
      return conditions?.find(({ type }) => type === "Ready")?.status;
    });
    expect(ready).toEqual(["False", "False"]);
    await harmsNobody(sandboxClaims);
  });

  test("does not delay others for a pool of two billion, and stops when it is deleted (ABUSE-10)", async () => {
    await world.template({}, "hostile");
    // As a server takes time.
    world.server.onRequest = ({ verb, namespace }) =>
      verb === "create" && namespace === "hostile" ? { delayMs: 20 } : undefined;
    const pool = poolOf({ replicas: 2_147_483_647 });
    await world.user.create(sandboxWarmPools, { ...pool, metadata: hostile });
    await world.clock.advance(1_000);
    await world.claim("neighbour");
    await world.clock.runUntil(() => world.ready("neighbour")?.status === "True", { withinMs: 1_000 });
    await world.clock.runUntil(() => world.members().filter(isNeighbour).length === 3, { withinMs: 1_000 });
    const owner = world.server.read(sandboxWarmPools, hostile) ?? pool;
    expect(world.server.readAll(sandboxes).filter((each) => isControlledBy(each, owner)).length).toBeGreaterThan(300);
    await world.user.delete(sandboxWarmPools, hostile);
    await world.clock.advance(60_000);
    expect(world.server.readAll(sandboxes).filter(({ metadata }) => metadata.namespace === "hostile")).toEqual([]);
  });

  const isNeighbour = ({ metadata }: Sandbox): boolean => metadata.namespace === "default";
});
