import { expect, test } from "vitest";
import { Fence } from "../cache/fence.ts";
import { Informers } from "../cache/informers.ts";
import { createClient } from "../client/create-client.ts";
import type { Logger } from "../logger.ts";
import type { Resource } from "../resource.ts";
import { MemoryApiServer, VirtualClock } from "../testing/index.ts";
import { Controller, watching } from "./controller.ts";

const lamps: Resource = { apiVersion: "example.com/v1", kind: "Lamp", plural: "lamps", namespaced: true };
const wires: Resource = { apiVersion: "v1", kind: "Wire", plural: "wires", namespaced: true };

test("a cache that never syncs is named in the log every two minutes, and the controller starts once it does (MANAGER-18)", async () => {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [lamps, wires], scheduler: clock });
  const client = createClient(server, { clock, random: () => 0 });
  await using informers = new Informers({ client, scheduler: clock, follow: { random: () => 0 } });
  const errors: { err?: Error }[] = [];
  const nothing = (): void => undefined;
  const log: Logger = { debug: nothing, info: nothing, warn: nothing, error: (fields) => void errors.push(fields) };
  server.onRequest = ({ resource }) => (resource === wires ? { refuse: { reason: "Forbidden" } } : undefined);
  const reconciled: string[] = [];
  await client.create(lamps, { metadata: { name: "one", namespace: "a" } });
  await using controller = Controller.start({
    name: "lamp",
    client,
    fence: new Fence({ informers, scheduler: clock }),
    scheduler: clock,
    log,
    primary: informers.get(lamps),
    triggers: [watching(informers.get(wires, { namespace: "a" }), () => [])],
    reconcile: (key) => {
      reconciled.push(key);
      return Promise.resolve();
    },
  });
  await clock.advance(119_999);
  expect(errors).toEqual([]);
  await clock.advance(120_001);
  expect(reconciled).toEqual([]);
  expect(errors.map(({ err }) => err?.message)).toEqual(
    [120, 240].map(
      (seconds) =>
        `Cannot start controller "lamp": the cache of Wire (v1) has no list after ${seconds} s. Check that the API server ` +
        'is reachable, that it serves wires, and that this account may list and watch them in namespace "a"',
    ),
  );
  server.onRequest = undefined;
  await clock.advance(119_000);
  await controller.ready;
  await clock.advance(600_000);
  expect([reconciled, errors.length]).toEqual([["a/one"], 2]);
});
