import { describe, expect, onTestFinished, test } from "vitest";
import type { Client, ListOptions, ObjectList, WatchOptions } from "../client.ts";
import { KubeError, type KubeReason } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import type { WatchEvent } from "../transport.ts";
import { type Change, type FollowOptions, followResource, type Trouble } from "./follow.ts";

const things: Resource = { apiVersion: "v1", kind: "Thing", plural: "things", namespaced: false };
const thing = (name: string, resourceVersion: string): KubeObject => ({ metadata: { name, resourceVersion } });
const added = (name: string, version: string): WatchEvent => ({ type: "ADDED", object: thing(name, version) });
const deleted = (name: string, version: string): WatchEvent => ({ type: "DELETED", object: thing(name, version) });
const bookmark = (resourceVersion: string, end = false): WatchEvent => ({
  type: "BOOKMARK",
  object: { metadata: { resourceVersion, ...(end ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}) } },
});
const expired: WatchEvent = {
  type: "ERROR",
  object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } as KubeObject,
};
const failure = (reason: KubeReason, retryAfterMs?: number): KubeError =>
  new KubeError(reason, reason, { retryAfterMs });

/** A watch that the test controls. */
class Stream implements AsyncIterable<readonly WatchEvent[]> {
  #items: (readonly WatchEvent[] | KubeError | "end")[] = [];
  #wake: (() => void) | undefined;
  closed = false;

  constructor(signal: AbortSignal | undefined, items: (readonly WatchEvent[] | KubeError | "end")[]) {
    for (const item of items) this.push(item);
    signal?.addEventListener("abort", () => {
      this.closed = true;
      this.push(failure("Interrupted"));
    });
  }

  push(item: readonly WatchEvent[] | KubeError | "end"): void {
    this.#items.push(item);
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly WatchEvent[]> {
    for (;;) {
      const item = this.#items.shift();
      if (item === "end") return;
      if (item instanceof KubeError) throw item;
      if (item) yield item;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

type ListAnswer = ObjectList<KubeObject> | KubeError;
type WatchAnswer = (readonly WatchEvent[] | KubeError | "end")[] | KubeError;

const pick = <A>(answers: readonly A[], nth: number): A => answers[Math.min(nth, answers.length - 1)] as A;

/** A client that gives the responses in turn, then repeats the last one, and records the watches. */
function scripted(lists: readonly ListAnswer[], watches: readonly WatchAnswer[]) {
  const asked: (string | WatchOptions)[] = [];
  const askedAt: number[] = [];
  const streams: Stream[] = [];
  const clock = new VirtualClock();
  let listed = 0;
  let watched = 0;
  const client = {
    async list(_resource: Resource, options: ListOptions, transform?: (object: KubeObject) => KubeObject) {
      asked.push(options.fieldSelector === undefined ? "list" : `list ${options.fieldSelector}`);
      askedAt.push(clock.now());
      const answer = pick(lists, listed++);
      if (answer instanceof KubeError) throw answer;
      return transform ? { ...answer, items: answer.items.map(transform) } : answer;
    },
    async watch(_resource: Resource, { signal, timeoutSeconds, ...rest }: WatchOptions) {
      expect(timeoutSeconds).toBe(450);
      asked.push(rest);
      askedAt.push(clock.now());
      const answer = pick(watches, watched++);
      if (answer instanceof KubeError) throw answer;
      const stream = new Stream(signal, answer);
      streams.push(stream);
      return stream;
    },
  } as unknown as Client;
  return { client, asked, askedAt, streams, clock };
}

/** Runs a feed in the background and collects its changes. */
function follow(script: ReturnType<typeof scripted>, options: Partial<FollowOptions<KubeObject>> = {}) {
  const stop = new AbortController();
  const changes: Change<KubeObject>[] = [];
  const troubles: Trouble[] = [];
  const { clock } = script;
  const running = (async () => {
    const feed = followResource(script.client, things, {
      signal: stop.signal,
      clock,
      random: () => 0.5,
      initial: "list",
      onTrouble: (trouble) => troubles.push(trouble),
      ...options,
    });
    for await (const change of feed) changes.push(change);
  })();
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return { changes, troubles, stop, running };
}

const list = (version: string, ...items: KubeObject[]): ListAnswer => ({ items, resourceVersion: version });
const reset = (resourceVersion: string, ...items: KubeObject[]) => ({ type: "reset", items, resourceVersion });
const changed = (resourceVersion: string, ...events: object[]) => ({ type: "changes", events, resourceVersion });
const minute = 60_000;

describe("followResource()", () => {
  test("delivers a list, then changes and bookmarks with the version after them", async () => {
    const script = scripted(
      [list("5", thing("a", "3"))],
      [[[added("b", "6"), deleted("a", "7")], [], [bookmark("9")]]],
    );
    const { changes } = follow(script);
    await script.clock.advance(0);
    expect(changes).toEqual([
      reset("5", thing("a", "3")),
      changed("7", { type: "upsert", object: thing("b", "6") }, { type: "delete", object: thing("a", "7") }),
      changed("9"),
    ]);
    expect(script.asked).toEqual(["list", { resourceVersion: "5" }]);
  });

  test("continues from the last version or bookmark when the server closes the watch", async () => {
    const script = scripted([list("5")], [[[added("a", "6"), bookmark("40")]], []]);
    const { changes, troubles } = follow(script, { namespace: "ns", labelSelector: "x=y" });
    await script.clock.advance(minute);
    script.streams[0]?.push("end");
    await script.clock.advance(0);
    const scope = { namespace: "ns", labelSelector: "x=y" };
    expect(script.asked).toEqual(["list", { ...scope, resourceVersion: "5" }, { ...scope, resourceVersion: "40" }]);
    expect(script.askedAt.at(-1)).toBe(minute);
    expect(changes.length).toBe(2);
    expect(troubles).toEqual([]);
  });

  test("does not go back for a bookmark that arrives late or twice", async () => {
    const script = scripted([list("5")], [[[bookmark("90"), bookmark("100"), bookmark("9"), bookmark("100")]], []]);
    follow(script);
    await script.clock.advance(minute);
    script.streams[0]?.push("end");
    await script.clock.advance(0);
    expect(script.asked.at(-1)).toEqual({ resourceVersion: "100" });
  });

  test.for<[string, WatchAnswer]>([
    ["in an event after other events", [[added("b", "6"), expired, added("never", "7")]]],
    ["in the response", failure("Gone")],
  ])("lists again after an expired version %s", async ([, answer]) => {
    const script = scripted([list("5", thing("a", "1")), list("20", thing("c", "2"))], [answer, []]);
    const { changes } = follow(script);
    await script.clock.advance(1_000);
    expect(changes.at(-1)).toEqual(reset("20", thing("c", "2")));
    expect(script.asked.at(-1)).toEqual({ resourceVersion: "20" });
    const told = changes.filter(({ type }) => type === "changes");
    expect(told).toEqual(Array.isArray(answer) ? [changed("6", { type: "upsert", object: thing("b", "6") })] : []);
  });

  test.for<[string, WatchEvent]>([
    ["no type", { object: thing("x", "6") } as WatchEvent],
    ["an unknown type", { type: "RENAMED", object: thing("x", "6") } as unknown as WatchEvent],
    ["no object", { type: "ADDED" } as WatchEvent],
    ["no name", { type: "ADDED", object: { metadata: { resourceVersion: "6" } } }],
    ["no version", { type: "MODIFIED", object: { metadata: { name: "x" } } }],
    ["a bookmark without a version", { type: "BOOKMARK", object: {} }],
  ])("lists again after an event with %s", async ([, event]) => {
    const script = scripted([list("5")], [[[event]], []]);
    const { changes, troubles } = follow(script);
    await script.clock.advance(1_000);
    expect(troubles.map(({ error }) => error.reason)).toEqual(["InvalidResponse"]);
    expect(changes).toEqual([reset("5"), reset("5")]);
  });

  test("applies the transform to every object of lists and watches", async () => {
    const script = scripted([list("5", thing("a", "3"))], [[[added("b", "6")]]]);
    const { changes } = follow(script, {
      transform: ({ metadata }) => ({ kind: "Cut", ...(metadata ? { metadata } : {}) }),
    });
    await script.clock.advance(0);
    expect(changes).toEqual([
      reset("5", { kind: "Cut", ...thing("a", "3") }),
      changed("6", { type: "upsert", object: { kind: "Cut", ...thing("b", "6") } }),
    ]);
  });

  test("ends when its signal aborts, and closes its watch", async () => {
    const script = scripted([list("5")], [[]]);
    const { stop, running } = follow(script);
    await script.clock.advance(0);
    stop.abort();
    await running;
    expect(script.streams[0]?.closed).toBe(true);
  });
});

describe("a silent watch", () => {
  test("is closed after 90 s and reopened from the last version", async () => {
    const script = scripted([list("5")], [[[bookmark("8")]], []]);
    const { troubles } = follow(script);
    await script.clock.advance(89_999);
    expect(script.asked.length).toBe(2);
    await script.clock.advance(1_000);
    expect(script.asked.at(-1)).toEqual({ resourceVersion: "8" });
    expect(script.streams[0]?.closed).toBe(true);
    expect(troubles).toMatchObject([
      { silent: true, error: { message: expect.stringMatching(/no event for 90000 ms/) } },
    ]);
  });

  test("that was silent from its start leads to a check whether the server has the version", async () => {
    const script = scripted([list("50", thing("a", "3")), list("60"), list("20", thing("b", "19"))], [[]]);
    const { changes } = follow(script);
    await script.clock.advance(91_000);
    const probe = "list metadata.name=-";
    expect(script.asked).toEqual(["list", { resourceVersion: "50" }, probe, { resourceVersion: "50" }]);
    await script.clock.advance(91_000);
    expect(script.asked.slice(4)).toEqual([probe, "list", { resourceVersion: "20" }]);
    expect(changes).toEqual([reset("50", thing("a", "3")), reset("20", thing("b", "19"))]);
  });

  test("that the server closes leads to the same check", async () => {
    const script = scripted([list("50")], [[], []]);
    follow(script, { fieldSelector: "status.phase=Running" });
    await script.clock.advance(minute);
    script.streams[0]?.push("end");
    await script.clock.advance(0);
    expect(script.asked[2]).toBe("list status.phase=Running,metadata.name=-");
  });

  test("with a bookmark every minute stays open", async () => {
    const script = scripted([list("5")], [[]]);
    follow(script);
    for (let passed = 0; passed < 60; passed += 1) {
      await script.clock.advance(minute);
      script.streams[0]?.push([bookmark(String(10 + passed))]);
    }
    await script.clock.advance(0);
    expect(script.asked.length).toBe(2);
  });

  test("that delivers bytes but no event is closed", async () => {
    const script = scripted([list("5")], [[]]);
    follow(script);
    await script.clock.advance(0);
    for (let passed = 0; passed < 6; passed += 1) {
      script.streams[0]?.push([]);
      await script.clock.advance(minute);
    }
    await script.clock.advance(1_000);
    expect(script.streams.map(({ closed }) => closed)).toEqual([true, false]);
  });

  test("is not closed while the consumer is busy", async () => {
    const script = scripted([list("5")], [[[added("a", "6")]]]);
    const stop = new AbortController();
    const options = { signal: stop.signal, clock: script.clock, random: () => 0.5, initial: "list" as const };
    const feed = followResource(script.client, things, options);
    await feed.next();
    await feed.next();
    await script.clock.advance(60 * minute);
    script.streams[0]?.push([added("b", "7")]);
    expect((await feed.next()).value).toMatchObject({ resourceVersion: "7" });
    expect(script.asked.length).toBe(2);
    stop.abort();
    await feed.return();
  });
});

describe("failures", () => {
  test.for<[string, readonly ListAnswer[], readonly WatchAnswer[], number]>([
    ["an unreachable server", [failure("Unreachable")], [[]], 250],
    ["a server that answers 500", [failure("InternalError")], [[]], 250],
    ["versions that expire at once", [list("5")], [failure("Gone")], 500],
    ["watches that end at once", [list("5")], [["end"]], 1_100],
    ["watches that break at once", [list("5")], [[failure("Interrupted")]], 250],
    ["watches with invalid events only", [list("5")], [[[{} as WatchEvent]]], 500],
    ["watches that end after one event", [list("5")], [[[added("a", "6")], "end"]], 1_100],
  ])("an hour of %s causes a limited number of requests", async ([, lists, watches, most]) => {
    const script = scripted(lists, watches);
    follow(script);
    await script.clock.advance(60 * minute);
    expect(script.asked.length).toBeGreaterThan(100);
    expect(script.asked.length).toBeLessThan(most);
  });

  test("the feed recovers within the longest wait after the last failure", async () => {
    const script = scripted(
      [...Array.from({ length: 30 }, () => failure("Unreachable")), list("5", thing("a", "3"))],
      [[]],
    );
    const { changes, troubles } = follow(script);
    await script.clock.runUntil(() => troubles.length === 30);
    await script.clock.advance(30_000);
    expect(changes).toEqual([reset("5", thing("a", "3"))]);
  });

  test("a healthy watch resets the backoff", async () => {
    const script = scripted([list("5")], [...Array.from({ length: 9 }, () => failure("Unreachable")), []]);
    const { troubles } = follow(script);
    await script.clock.runUntil(() => script.streams.length === 1);
    await script.clock.advance(minute);
    script.streams[0]?.push(failure("Interrupted"));
    await script.clock.advance(0);
    expect(troubles.at(-1)).toMatchObject({ failures: 1, retryInMs: 187.5 });
  });

  test("Retry-After is respected", async () => {
    const script = scripted([failure("TooManyRequests", 9_000), list("5")], [[]]);
    follow(script);
    await script.clock.advance(8_999);
    expect(script.asked).toEqual(["list"]);
    await script.clock.advance(2_000);
    expect(script.asked.length).toBe(3);
  });
});

describe("streamed initial objects", () => {
  const stream = { initial: "stream" } as const;
  const begin = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };

  test("arrive as one reset including changes, and the watch continues", async () => {
    const script = scripted(
      [],
      [
        [
          [added("a", "3"), added("b", "4")],
          [deleted("a", "5"), bookmark("5", true)],
        ],
      ],
    );
    const { changes } = follow(script, stream);
    await script.clock.advance(0);
    expect(changes).toEqual([reset("5", thing("b", "4"))]);
    script.streams[0]?.push([added("c", "6")]);
    await script.clock.advance(89_000);
    expect(changes.at(-1)).toMatchObject({ resourceVersion: "6" });
    expect(script.asked).toEqual([begin]);
  });

  test.for<[string, WatchAnswer]>([
    ["rejects the option", failure("Invalid")],
    [
      "fails during the stream",
      [[{ ...expired, object: { kind: "Status", code: 500, message: "disabled" } as KubeObject }]],
    ],
    ["ignores the option and is silent", [[added("a", "3")]]],
    ["ignores the option and sends an ordinary bookmark", [[added("a", "3"), bookmark("9")]]],
    ["ignores the option and closes the watch", [[added("a", "3")], "end"]],
  ])("are replaced by lists for good when the server %s", async ([, answer]) => {
    const script = scripted([list("5", thing("a", "3"))], [answer, [[expired]], []]);
    const { changes } = follow(script, stream);
    await script.clock.advance(11_000);
    expect(changes).toEqual([reset("5", thing("a", "3")), reset("5", thing("a", "3"))]);
    expect(script.asked).toEqual([begin, "list", { resourceVersion: "5" }, "list", { resourceVersion: "5" }]);
  });

  test("are replaced by a list when the stream breaks, and tried again after a healthy watch", async () => {
    const script = scripted([list("5")], [[[added("a", "3")], failure("Interrupted")], [], [[bookmark("9", true)]]]);
    const { changes } = follow(script, stream);
    await script.clock.advance(minute);
    script.streams[1]?.push([expired]);
    await script.clock.advance(0);
    expect(changes).toEqual([reset("5"), reset("9")]);
    expect(script.asked).toEqual([begin, "list", { resourceVersion: "5" }, begin]);
  });
});
