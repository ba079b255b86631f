import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { accountIdentity, type Identity, nodeIdentity } from "../auth/identity.ts";
import { FairShares, flowOf, type Seat } from "./fair-shares.ts";

const user = (name: string): Identity => ({ user: name, groups: ["system:authenticated"] });
const limits = { requests: 2, waiting: 1, watches: 2, streams: 1 };
const refusal = expect.objectContaining({ reason: "TooManyRequests", details: { retryAfterSeconds: 1 } });

describe("the flow of a request", () => {
  test.for([
    ["a user", user("mallory"), "user mallory"],
    ["an account", accountIdentity({ namespace: "a", name: "one" }), "accounts a"],
    ["another account of the namespace", accountIdentity({ namespace: "a", name: "two" }), "accounts a"],
    ["an administrator", { user: "admin", groups: ["system:masters"] }, undefined],
    ["the node", nodeIdentity("box"), undefined],
    ["the controllers", accountIdentity({ namespace: "agent-sandbox-system", name: "c" }), undefined],
    [
      "a user named like an account",
      user("system:serviceaccount:agent-sandbox-system"),
      "user system:serviceaccount:agent-sandbox-system",
    ],
  ] as const)("%s", ([, identity, flow]) => {
    expect(flowOf(identity)).toBe(flow);
  });
});

describe("requests", () => {
  test("above the limit wait in order, and are refused when the queue is full", async () => {
    const shares = new FairShares(limits);
    const [first] = [shares.enter(user("mallory")) as Seat, shares.enter(user("mallory"))];
    let entered = false;
    const third = Promise.resolve(shares.enter(user("mallory"))).then((seat) => {
      entered = true;
      return seat;
    });
    expect(() => shares.enter(user("mallory"))).toThrow(refusal);
    // Other users are not affected.
    expect(shares.enter(user("alice"))).not.toBeInstanceOf(Promise);
    await setImmediate();
    expect(entered).toBe(false);
    first.leave();
    (await third).leave();
    expect(entered).toBe(true);
  });

  test("can leave twice without being counted twice, and idle flows are removed", () => {
    const shares = new FairShares(limits);
    const seat = shares.enter(user("mallory")) as Seat;
    const other = shares.enter(user("mallory")) as Seat;
    seat.leave();
    seat.leave();
    expect(shares.size).toBe(1);
    other.leave();
    expect(shares.size).toBe(0);
  });

  test("are handled one for each flow in a turn of the event loop", async () => {
    const shares = new FairShares({ ...limits, requests: 10 });
    const order: string[] = [];
    const handled = ["mallory", "mallory", "mallory", "alice"].map(async (name, at) => {
      const seat = await shares.enter(user(name));
      await seat.turn();
      order.push(`${name} ${at}`);
      seat.leave();
    });
    await Promise.all(handled);
    expect(order).toEqual(["mallory 0", "alice 3", "mallory 1", "mallory 2"]);
  });

  test("with large responses send them one after the other", async () => {
    const shares = new FairShares(limits);
    const [one, two] = [shares.enter(user("mallory")) as Seat, shares.enter(user("mallory")) as Seat];
    expect(one.alone()).toBeUndefined();
    const wait = two.alone();
    expect(wait).toBeInstanceOf(Promise);
    one.leave();
    await wait;
    two.leave();
    expect(shares.size).toBe(0);
  });
});

describe("watches and streams", () => {
  test("have separate limits and do not count as requests", () => {
    const shares = new FairShares(limits);
    const watches = [1, 2].map(() => {
      const seat = shares.enter(user("mallory")) as Seat;
      seat.become("watches");
      return seat;
    });
    const third = shares.enter(user("mallory")) as Seat;
    expect(() => third.become("watches")).toThrow(refusal);
    third.leave();
    watches[0]?.leave();
    const fourth = shares.enter(user("mallory")) as Seat;
    fourth.become("watches");
    for (const seat of [...watches, fourth]) seat.leave();
    expect(shares.size).toBe(0);
  });

  test("are refused above the limit, which all accounts of a namespace share", () => {
    const shares = new FairShares(limits);
    const close = shares.open(accountIdentity({ namespace: "a", name: "one" }), "streams");
    expect(() => shares.open(accountIdentity({ namespace: "a", name: "two" }), "streams")).toThrow(refusal);
    shares.open(accountIdentity({ namespace: "b", name: "one" }), "streams");
    close();
    shares.open(accountIdentity({ namespace: "a", name: "two" }), "streams");
  });
});
