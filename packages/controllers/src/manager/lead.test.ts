import { createClient, whileLeading } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { lead, leaseName } from "./lead.ts";

const leases = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", plural: "leases", namespaced: true };

interface Replica {
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
  working: boolean;
}

function openRig() {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [leases, pods], scheduler: clock });
  const log: string[] = [];
  const start = (identity: string, options: { drainMs?: number; isCut?: () => boolean } = {}): Replica => {
    const transport = server.connect(() => (options.isCut?.() === true ? { reset: "before" } : undefined));
    const client = createClient(transport, { clock, random: () => 0 });
    const replica: { stop: AbortController; working: boolean; ended: Promise<unknown> } = {
      stop: new AbortController(),
      working: false,
      ended: Promise.resolve(),
    };
    const work = (): AsyncDisposable => {
      replica.working = true;
      log.push(`${identity} begins at ${clock.now()}`);
      return {
        [Symbol.asyncDispose]: async () => {
          await clock.sleep(options.drainMs ?? 0);
          replica.working = false;
          log.push(`${identity} ends`);
        },
      };
    };
    const silent = (): void => undefined;
    const quiet = { debug: silent, info: silent, warn: silent, error: silent };
    const all = { client, namespace: "system", identity, scheduler: clock, log: quiet, work };
    replica.ended = lead(all, replica.stop.signal).catch((error: unknown) => error);
    return replica;
  };
  return { clock, server, log, start };
}

test("hands over within a second after a clean stop, but not before the work has ended (MANAGER-11)", async () => {
  const { clock, log, start } = openRig();
  const first = start("first", { drainMs: 300 });
  await clock.advance(100);
  const second = start("second");
  await clock.advance(10_000);
  expect([first.working, second.working]).toEqual([true, false]);
  first.stop.abort();
  await clock.advance(1_000);
  expect([first.working, second.working]).toEqual([false, true]);
  expect(log.map((line) => line.replace(/ at .*/, ""))).toEqual(["first begins", "first ends", "second begins"]);
  expect(await first.ended).toBeUndefined();
});

test("takes over within five seconds after a crash, and the old leader stops before that (MANAGER-11)", async () => {
  const { clock, log, start } = openRig();
  let isCut = false;
  const first = start("first", { isCut: () => isCut });
  await clock.advance(100);
  const second = start("second");
  await clock.advance(10_000);
  isCut = true;
  // Half a second remains for requests and for filling caches.
  await clock.advance(4_500);
  expect([first.working, second.working]).toEqual([false, true]);
  expect(log.map((line) => line.replace(/ at .*/, ""))).toEqual(["first begins", "first ends", "second begins"]);
  expect(await first.ended).toMatchObject({ message: expect.stringContaining("not renewed in time") });
});

test("ends without working when it is stopped before it gets the lease (MANAGER-11)", async () => {
  const { clock, server, log, start } = openRig();
  start("first");
  await clock.advance(100);
  const second = start("second");
  await clock.advance(1_000);
  second.stop.abort();
  await clock.advance(0);
  expect(await second.ended).toBeUndefined();
  expect(log).toEqual(["first begins at 0"]);
  expect(server.read(leases, { namespace: "system", name: leaseName })).toMatchObject({
    spec: { holderIdentity: "first", leaseDurationSeconds: 4 },
  });
});

test("rejects the writes of a leader that was paused (MANAGER-17)", async () => {
  const { clock, server } = openRig();
  const client = createClient(server, { clock, random: () => 0 });
  const written: Promise<unknown>[] = [];
  const silent = (): void => undefined;
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  const stop = new AbortController();
  let write: () => void = silent;
  const ended = lead(
    {
      client,
      namespace: "system",
      identity: "paused",
      scheduler: clock,
      log,
      work: (leadership) => {
        const guarded = createClient(whileLeading(server, leadership), { clock, random: () => 0 });
        write = () => written.push(guarded.create(pods, { metadata: { name: "late", namespace: "a" } }));
        return { [Symbol.asyncDispose]: () => Promise.resolve() };
      },
    },
    stop.signal,
  ).catch((error: unknown) => error);
  await clock.advance(1_000);
  clock.skip(3_500);
  write();
  await expect(written[0]).rejects.toThrow("no longer leads");
  await clock.advance(1_000);
  expect(await ended).toBeInstanceOf(Error);
  expect(server.readAll(pods)).toEqual([]);
});
