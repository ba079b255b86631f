import { sandboxClaims, sandboxes, sandboxWarmPools } from "@agent-sandbox/api";
import { pods } from "@agent-sandbox/controllers";
import type { Resource } from "@agent-sandbox/kube";
import { seededRandom } from "@agent-sandbox/kube/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClaimCluster, namespace } from "./claim-cluster.ts";
import type { ClaimServer } from "./claim-servers.ts";
import { describeCustomisation } from "./custom-suite.ts";
import { describePools } from "./pool-suite.ts";

const patience = { timeout: 120_000 };

export interface ClaimSuite {
  readonly startServer: () => Promise<ClaimServer>;
  /** The size of the pool, and the number of claims in a burst. */
  readonly size: number;
}

/** The same tests for each API server. Each test depends on the state that the previous one leaves. */
export function describeClaims(name: string, { startServer, size }: ClaimSuite): void {
  describe(`claims on ${name}`, () => {
    let server: ClaimServer;
    let cluster: ClaimCluster;
    beforeAll(async () => {
      server = await startServer();
      cluster = new ClaimCluster(server, { startMs: 100 });
      await cluster.startControllers();
    });
    afterAll(async () => {
      await cluster?.[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
    });

    const claimNames = (prefix: string): string[] => Array.from({ length: size }, (_, n) => `${prefix}-${n}`);
    const written = (what: string): number => cluster.writes.get(what) ?? 0;
    const full = (): boolean => cluster.readyMembers() === size;

    /** Creates the claims at once, and waits until each is Ready and the pool is full again. */
    async function burst(prefix: string, ready: number): Promise<void> {
      const before = cluster.ledger.readyTimes.size;
      await Promise.all(claimNames(prefix).map((claim) => cluster.createClaim(claim, "pool")));
      await cluster.until(() => cluster.readyClaims() === ready);
      await cluster.until(full);
      const { readyTimes, boundTo, broken, mostMembers } = cluster.ledger;
      expect(broken).toEqual([]);
      expect(readyTimes.size - before).toBe(size);
      expect([...readyTimes.values()].every((times) => times === 1)).toBe(true);
      expect(new Set(boundTo.values()).size).toBe(readyTimes.size);
      expect(mostMembers).toBeLessThanOrEqual(size);
    }

    test(`fills a pool of ${size} with ${size} creates (POOL-20)`, patience, async () => {
      await cluster.createPool("pool", size);
      await cluster.until(full);
      expect([written("POST sandboxes"), cluster.ledger.mostMembers]).toEqual([size, size]);
    });

    test(
      `binds ${size} claims to a Sandbox each within the write budget, and refills the pool (CLAIM-58, COST-6)`,
      patience,
      async () => {
        await cluster.until(() => cluster.isSettled("pool"));
        cluster.writes.clear();
        cluster.writesOn.clear();
        cluster.passes = 0;
        await burst("first", size);
        await cluster.until(() => cluster.isSettled("pool"));
        expect([written("POST sandboxes"), written("PATCH sandboxclaims/status")]).toEqual([size, size]);
        const total = [...cluster.writes.values()].reduce((sum, count) => sum + count, 0);
        const { boundTo } = cluster.ledger;
        const writesOf = (claim: string): number =>
          (cluster.writesOn.get(claim) ?? 0) + (cluster.writesOn.get(boundTo.get(claim) ?? "") ?? 0);
        const each = claimNames("first").map(writesOf);
        // The transfer, the record, the status and the Pod.
        expect(new Set(each)).toEqual(new Set([4]));
        expect(total - 4 * size).toBeLessThanOrEqual(5 * size);
        expect(cluster.passes).toBeLessThanOrEqual(size * 3);
      },
    );

    test(
      "creates a Sandbox for a claim on an empty pool within the write budget (CLAIM-1, COST-7)",
      patience,
      async () => {
        await cluster.createPool("empty", 0);
        cluster.writes.clear();
        await cluster.createClaim("cold", "empty");
        await cluster.until(() => cluster.isSettled("empty") && cluster.sandbox("cold") !== undefined);
        expect([cluster.readyClaims(), written("POST sandboxes"), written("POST pods")]).toEqual([size + 1, 1, 1]);
        // The creates, and the writes to the claim, its Sandbox and its Pod, which share a name.
        expect(2 + (cluster.writesOn.get("cold") ?? 0)).toBeLessThanOrEqual(7);
        await cluster.client.delete(sandboxClaims, { namespace, name: "cold" });
        await cluster.until(() => cluster.sandbox("cold") === undefined);
      },
    );

    test("writes nothing for settled objects after a restart (COST-5)", patience, async () => {
      await cluster.until(() => cluster.isSettled("pool"));
      await cluster.stopControllers();
      cluster.writes.clear();
      cluster.passes = 0;
      await cluster.startControllers();
      await cluster.untilPasses(size);
      expect(Object.fromEntries(cluster.writes)).toEqual({});
    });

    test(
      "deletes expired claims by their policy, in the foreground after all they own (EXPIRE-16)",
      patience,
      async () => {
        const policies = ["Delete", "DeleteForeground", "Retain"] as const;
        const nameOf = (policy: string): string => `ends-${policy.toLowerCase()}`;
        for (const policy of policies) await cluster.createClaim(nameOf(policy), "pool");
        await cluster.until(() => cluster.readyClaims() === size + policies.length);
        const bound = cluster.claim(nameOf("DeleteForeground"))?.status?.sandbox?.name ?? "";
        // Deletion in the foreground waits only for objects that the garbage collector has seen.
        await cluster.collectorSeesSandboxes();
        const shutdownTime = new Date().toISOString();
        for (const shutdownPolicy of policies) {
          await cluster.editClaim(nameOf(shutdownPolicy), { lifecycle: { shutdownTime, shutdownPolicy } });
        }
        await cluster.until(() => cluster.claim(nameOf("DeleteForeground")) === undefined);
        const lookUp = (resource: Resource): Promise<unknown> =>
          cluster.client.get(resource, { namespace, name: bound }).catch(({ reason }: { reason: string }) => reason);
        expect([await lookUp(sandboxes), await lookUp(pods)]).toEqual(["NotFound", "NotFound"]);
        await cluster.until(() => cluster.claim(nameOf("Delete")) === undefined);
        await cluster.until(() => cluster.claim(nameOf("Retain"))?.status?.sandbox === undefined);
        expect(cluster.claim(nameOf("Retain"))?.status?.conditions).toMatchObject([
          { type: "Ready", reason: "ClaimExpired" },
        ]);
        await cluster.client.delete(sandboxClaims, { namespace, name: nameOf("Retain") });
        await cluster.until(full);
      },
    );

    test("binds another burst of claims with every watch 0 to 5 s late (CLAIM-58)", patience, async () => {
      cluster.writes.clear();
      const random = seededRandom(1);
      cluster.watchDelayMs = () => random() * 5_000;
      await burst("late", 2 * size);
      cluster.watchDelayMs = () => 0;
      expect(written("POST sandboxes")).toBe(size);
    });

    test("deletes everything that deleted claims and pools own (EXPIRE-21, POOL-24)", patience, async () => {
      const names = [...claimNames("first"), ...claimNames("late")];
      await Promise.all(names.map((claim) => cluster.client.delete(sandboxClaims, { namespace, name: claim })));
      await cluster.client.delete(sandboxWarmPools, { namespace, name: "pool" });
      await cluster.until(() => Object.values(cluster.counts()).every((count) => count === 0));
      expect(cluster.counts()).toEqual({ claims: 0, sandboxes: 0, pods: 0 });
    });

    describe("then what claims change", () => {
      describeCustomisation(() => cluster);
    });

    describe("then pools and templates", () => {
      describePools(() => cluster);
    });
  });
}
