import { createClient, silentLogger, whileLeading } from "@agent-sandbox/kube";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { startControllers } from "../start-controllers.ts";
import { World } from "../world.test.support.ts";
import { keptObservations, LateLeadership, Standby } from "./standby.ts";

describe("a replica that waits for the lease", () => {
  let world: World;
  /** Requests of the replica, without those for the lease. */
  let requests: string[];
  let leadership: LateLeadership;
  beforeEach(() => {
    world = new World();
    requests = [];
    leadership = new LateLeadership();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  function open(scope: { namespace?: string; extensions?: boolean } = {}) {
    const transport = world.server.connect(({ verb, resource }) => {
      requests.push(`${verb} ${resource.plural}`);
      return undefined;
    });
    const client = createClient(whileLeading(transport, leadership), { clock: world.clock, random: () => 0 });
    return { client, standby: new Standby({ client, log: silentLogger, scopes: [scope] }) };
  }

  test("reads nothing while the leader renews its lease (MANAGER-20)", async () => {
    await using standby = open().standby;
    standby.observe(false);
    await world.clock.advance(1_000);
    expect(requests).toEqual([]);
    expect(standby.take()).toEqual([]);
  });

  test.for([{}, { extensions: false }, { namespace: "one" }])(
    "fills every cache while the leader is silent, and lists nothing when it leads, with %j (MANAGER-20)",
    async (scope) => {
      const { client, standby } = open(scope);
      await using _standby = standby;
      standby.observe(true);
      standby.observe(true);
      await world.clock.advance(1_000);
      expect(requests.filter((request) => !/^(list|watch) /.test(request))).toEqual([]);
      const listed = requests.filter((request) => request.startsWith("list "));
      expect(new Set(listed).size).toBe(listed.length);
      requests.length = 0;
      leadership.begin({ assertLeading: () => undefined });
      const [informers] = standby.take();
      if (informers === undefined) throw new Error("no caches were filled");
      await using controllers = startControllers({ client, informers, log: silentLogger, instance: "next", ...scope });
      await controllers.ready;
      expect(requests).toEqual([]);
    },
  );

  test("closes the caches when the leader has renewed its lease for a while (MANAGER-20)", async () => {
    await using standby = open().standby;
    standby.observe(true);
    await world.clock.advance(1_000);
    for (let times = 0; times < keptObservations; times++) standby.observe(false);
    expect(standby.take()).toEqual([]);
    requests.length = 0;
    await world.clock.advance(3_600_000);
    expect(requests).toEqual([]);
  });

  test("reads once if the leader is slow, not each time that it is late (MANAGER-20)", async () => {
    await using standby = open().standby;
    for (let times = 0; times < 20; times++) {
      standby.observe(true);
      await world.clock.advance(1_000);
      for (let renewals = 1; renewals < keptObservations; renewals++) standby.observe(false);
    }
    // A watch begins with all objects.
    expect(requests).toContain("watch pods");
    expect(new Set(requests).size).toBe(requests.length);
  });

  test("cannot write before it leads (MANAGER-20)", async () => {
    const { client } = open();
    const create = () => client.create(pods, { metadata: { name: "early", namespace: "a" } });
    await expect(create()).rejects.toThrow("does not lead yet");
    expect(requests).toEqual([]);
    leadership.begin({ assertLeading: () => undefined });
    await create();
    expect(world.server.readAll(pods)).toHaveLength(1);
  });
});
