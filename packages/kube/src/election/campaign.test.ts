import type { Lease } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import { type Fault, MemoryApiServer, VirtualClock } from "../testing/index.ts";
import type { Transport } from "../transport.ts";
import { campaign } from "./campaign.ts";
import type { Leadership } from "./leadership.ts";
import { leases } from "./lease-record.ts";
import { whileLeading } from "./while-leading.ts";

const lease = { namespace: "system", name: "controllers" };
const pods = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

interface Rig {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
  readonly spec: () => Lease["spec"];
  /** Campaigns in the background; the result is set when the lease is acquired. */
  readonly enter: (identity: string, transport?: Transport) => { leadership?: Leadership };
}

function openRig(): Rig {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [leases, pods], scheduler: clock });
  const enter: Rig["enter"] = (identity, transport = server) => {
    const client = createClient(transport, { clock, random: () => 0 });
    const candidate: { leadership?: Leadership } = {};
    const follow = async (): Promise<void> => {
      candidate.leadership = await campaign({ client, lease, identity, scheduler: clock, random: () => 0 });
    };
    void follow();
    return candidate;
  };
  return { clock, server, spec: () => server.read(leases, lease)?.spec, enter };
}

const isLeading = ({ leadership }: { leadership?: Leadership }): boolean => leadership?.lost.aborted === false;

describe("campaign()", () => {
  test("acquires a free lease and writes it as Kubernetes' own components do", async () => {
    const { clock, spec, enter } = openRig();
    const first = enter("first");
    await clock.advance(5_000);
    expect(isLeading(first)).toBe(true);
    expect(spec()).toEqual({
      holderIdentity: "first",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:04.000000Z",
      leaseTransitions: 0,
    });
  });

  test("lets one of two candidates lead, and the other only after a lease duration without renewal", async () => {
    const { clock, server, spec, enter } = openRig();
    let isCut = false;
    const first = enter(
      "first",
      server.connect(() => (isCut ? { reset: "before" } : undefined)),
    );
    await clock.advance(100);
    const second = enter("second");
    await clock.advance(60_000);
    expect([isLeading(first), isLeading(second)]).toEqual([true, false]);
    isCut = true;
    await clock.advance(10_000);
    expect([isLeading(first), isLeading(second)]).toEqual([false, false]);
    await clock.advance(7_000);
    expect([isLeading(first), isLeading(second)]).toEqual([false, true]);
    expect(spec()).toMatchObject({ holderIdentity: "second", leaseTransitions: 1 });
  });

  test("hands over within one retry period when the leader stops cleanly", async () => {
    const { clock, spec, enter } = openRig();
    const first = enter("first");
    await clock.advance(100);
    const second = enter("second");
    await clock.advance(20_000);
    await first.leadership?.[Symbol.asyncDispose]();
    expect(spec()).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    expect(() => first.leadership?.assertLeading("write")).toThrow("no longer leads");
    await clock.advance(2_000);
    expect(isLeading(second)).toBe(true);
  });

  test("judges another candidate's lease by its own clock, not by the times in it", async () => {
    const { clock, server, enter } = openRig();
    const client = createClient(server, { clock });
    const old = { holderIdentity: "skewed", leaseDurationSeconds: 15, renewTime: "1999-01-01T00:00:00.000000Z" };
    await client.create(leases, { metadata: lease, spec: old });
    const candidate = enter("candidate");
    await clock.advance(14_000);
    expect(isLeading(candidate)).toBe(false);
    await clock.advance(3_000);
    expect(isLeading(candidate)).toBe(true);
  });

  test("acquires a lease at the moment it ends, and reports before that its holder is silent", async () => {
    const { clock, server } = openRig();
    const client = createClient(server, { clock });
    const dead = { holderIdentity: "dead", leaseDurationSeconds: 15 };
    await client.create(leases, { metadata: lease, spec: dead });
    const silences: [at: number, isSilent: boolean][] = [];
    const onWaiting = (isSilent: boolean): void => void silences.push([clock.now(), isSilent]);
    let leads = false;
    const follow = async (): Promise<void> => {
      await campaign({ client, lease, identity: "next", scheduler: clock, random: () => 0, onWaiting });
      leads = true;
    };
    void follow();
    await clock.advance(7_000);
    await client.patch(leases, lease, { type: "merge", body: { spec: { renewTime: "2026-01-01T00:00:07.000000Z" } } });
    // The renewal is observed at 8 s.
    await clock.advance(15_999);
    expect(leads).toBe(false);
    await clock.advance(1);
    expect(leads).toBe(true);
    expect(silences.filter(([, isSilent]) => isSilent).map(([at]) => at)).toEqual([
      6_000, 14_000, 16_000, 18_000, 20_000, 22_000,
    ]);
  });

  test("acquires an expired lease although others change its labels", async () => {
    const { clock, server, enter } = openRig();
    const client = createClient(server, { clock });
    await client.create(leases, { metadata: lease, spec: { holderIdentity: "dead", leaseDurationSeconds: 15 } });
    const candidate = enter("candidate");
    for (let second = 0; second < 20; second += 1) {
      await client.patch(leases, lease, { type: "merge", body: { metadata: { labels: { second: String(second) } } } });
      await clock.advance(1_000);
    }
    expect(isLeading(candidate)).toBe(true);
  });

  test("rejects the write of a leader that was paused and continued, before any timer fires (MANAGER-17)", async () => {
    const { clock, server, enter } = openRig();
    const first = enter("first");
    await clock.advance(3_000);
    const leadership = first.leadership as Leadership;
    const client = createClient(whileLeading(server, leadership), { clock });
    await client.create(pods, { metadata: { name: "before", namespace: "a" } });
    clock.skip(11_000);
    const late = client.create(pods, { metadata: { name: "after", namespace: "a" } });
    await expect(late).rejects.toMatchObject({
      reason: "Unreachable",
      message: expect.stringContaining("no longer leads"),
    });
    expect(leadership.lost.aborted).toBe(true);
    expect(server.readAll(pods).map(({ metadata }) => metadata?.name)).toEqual(["before"]);
    await expect(client.get(pods, { name: "before", namespace: "a" })).resolves.toBeDefined();
  });

  test("stays lost after a pause although the lease could still be renewed", async () => {
    const { clock, enter } = openRig();
    const first = enter("first");
    await clock.advance(3_000);
    clock.skip(11_000);
    await clock.advance(10_000);
    expect(isLeading(first)).toBe(false);
    expect(() => first.leadership?.assertLeading("write")).toThrow("no longer leads");
  });

  test.for<[string, Fault]>([
    ["responses to renewals are lost", { reset: "after" }],
    ["renewals never arrive", { reset: "before" }],
    ["the server reports conflicts", { refuse: { reason: "Conflict" } }],
    ["the server fails", { refuse: { reason: "InternalError" } }],
    ["the server hangs", { delayMs: 4_000 }],
  ])("keeps leading during 6 s in which %s", async ([, fault]) => {
    const { clock, server, spec, enter } = openRig();
    const first = enter("first");
    await clock.advance(2_500);
    server.onRequest = () => fault;
    await clock.advance(6_000);
    server.onRequest = undefined;
    await clock.advance(20_000);
    expect(isLeading(first)).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: "first", leaseTransitions: 0 });
  });

  test("loses leadership when the server is unreachable for longer than the renew deadline", async () => {
    const { clock, server, enter } = openRig();
    const first = enter("first");
    await clock.advance(2_500);
    server.onRequest = () => ({ delayMs: 3_600_000 });
    await clock.advance(9_000);
    expect(isLeading(first)).toBe(true);
    await clock.advance(1_000);
    expect(isLeading(first)).toBe(false);
  });

  test("loses leadership at the next renewal when somebody else overwrites the lease", async () => {
    const { clock, server, enter } = openRig();
    const first = enter("first");
    await clock.advance(3_000);
    const client = createClient(server, { clock });
    await client.patch(leases, lease, { type: "merge", body: { spec: { holderIdentity: "thief" } } });
    await clock.advance(2_000);
    expect(isLeading(first)).toBe(false);
    expect(first.leadership?.lost.reason).toMatchObject({ message: expect.stringContaining("thief") });
  });

  test("gives the lease to one of two candidates that both find it free", async () => {
    const { clock, server, enter } = openRig();
    server.onRequest = ({ verb }) => (verb === "get" ? { delayMs: 50 } : { delayMs: 10 });
    const candidates = ["a", "b", "c"].map((identity) => enter(identity));
    await clock.advance(5_000);
    expect(candidates.filter(isLeading)).toHaveLength(1);
  });

  test("stops waiting when aborted", async () => {
    const { clock, server } = openRig();
    server.onRequest = () => ({ reset: "before" });
    const stop = new AbortController();
    const client = createClient(server, { clock });
    const waiting = campaign({ client, lease, identity: "x", scheduler: clock }, stop.signal);
    const outcome = waiting.catch((error: unknown) => error);
    await clock.advance(5_000);
    stop.abort(new Error("enough"));
    await clock.advance(0);
    expect(await outcome).toEqual(new Error("enough"));
  });

  test("rejects times that could allow two leaders", async () => {
    const { clock, server } = openRig();
    const options = { client: createClient(server), lease, identity: "x", scheduler: clock };
    await expect(campaign({ ...options, leaseDurationMs: 5_000 })).rejects.toThrow("each time must be shorter");
  });
});
