import { type Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { boundTo, claimOf, epoch, memberNamed, readyStatus, startingStatus } from "../extensions.test.support.ts";
import { actionsOf, judge, look, placeOf, reserve } from "./claim.test.support.ts";
import { Reservations } from "./reservations.ts";

const claim = claimOf();
const addressed = (name: string, over = {}) =>
  memberNamed(name, { status: { ...startingStatus, podIPs: ["10.0.0.9"], ...over } });
const onNode = (name: string, nodeName: string) => memberNamed(name, { status: { ...readyStatus, nodeName } });
const pending = (name: string, over = {}) => memberNamed(name, { status: { ...startingStatus, ...over } });

describe("reservations of pool members", () => {
  test("takes the oldest of three Ready members and leaves two (CLAIM-6)", () => {
    const reservations = new Reservations(() => undefined);
    const sandboxes = ["a", "b", "c"].map((name) => memberNamed(name));
    const place = placeOf({ sandboxes }, reservations);
    expect([actionsOf(judge({}, place)), reservations.count("default/pool-uid")]).toEqual([["adopt a"], 2]);
  });

  test("counts the members that can be claimed at once (COST-13)", () => {
    const reservations = new Reservations(() => undefined);
    const members = [memberNamed("a"), memberNamed("b"), addressed("c"), pending("d")];
    const counts = [reservations.stock];
    const update = (name: string, old: Sandbox, now: Sandbox | undefined): void => {
      reservations.follow({ deltas: [{ key: `default/${name}`, old, new: now }], initial: false, wentBack: false });
      counts.push(reservations.stock);
    };
    const place = placeOf({ sandboxes: members }, reservations);
    counts.push(reservations.stock);
    look({}, place);
    counts.push(reservations.stock);
    update("a", memberNamed("a"), boundTo(claim));
    update("c", addressed("c"), memberNamed("c"));
    for (const name of ["b", "c"]) update(name, memberNamed(name), undefined);
    expect(counts).toEqual([0, 2, 2, 1, 2, 1, 0]);
  });

  test("takes a member as soon as it gets an address, and else creates a Sandbox (CLAIM-11)", () => {
    const woken: string[] = [];
    const reservations = new Reservations((key) => woken.push(key));
    const place = placeOf({ sandboxes: [pending("a")] }, reservations);
    look({}, place);
    const delta = { key: "default/a", old: pending("a"), new: addressed("a") };
    reservations.follow({ deltas: [delta], initial: false, wentBack: false });
    expect(woken).toEqual(["default/my-claim"]);
    expect(actionsOf(judge({ now: epoch + 100 }, place))).toEqual(["adopt a"]);
    expect(actionsOf(judge({ sandboxes: [pending("a")], now: epoch + 2_000 }))).toEqual(["create my-claim"]);
  });

  test("removes a deleted member from the queue and keeps each member once, with its current node (CLAIM-27)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [onNode("a", "node-1"), memberNamed("b")] }, reservations);
    const update = (key: string, sandbox: Sandbox | undefined) =>
      reservations.follow({ deltas: [{ key, old: undefined, new: sandbox }], initial: false, wentBack: false });
    update("default/a", onNode("a", "node-2"));
    expect(reservations.count("default/pool-uid")).toBe(2);
    update("default/b", undefined);
    expect(reservations.count("default/pool-uid")).toBe(1);
    expect(reserve(reservations, "default/c")?.status?.nodeName).toBe("node-2");
  });

  test("does not give a referenced member to a claim while it is reserved for another (CLAIM-31)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [memberNamed("a")] }, reservations);
    const take = (claim: string) => reserve(reservations, claim, "default/a")?.metadata.name;
    reserve(reservations, "default/one");
    expect([take("default/two"), take("default/one"), take("default/two")]).toEqual([undefined, "a", undefined]);
    reservations.endPass("default/one", "nothing");
    expect(take("default/two")).toBe("a");
  });

  test("offers a reserved member to no other claim until it is released (CLAIM-31)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [memberNamed("a")] }, reservations);
    const take = (by: string) => reserve(reservations, by)?.metadata.name;
    expect([take("one"), take("two"), take("one")]).toEqual(["a", undefined, "a"]);
    reservations.endPass("one", "member");
    expect(take("two")).toBeUndefined();
    reservations.endPass("one", "nothing");
    expect(take("two")).toBe("a");
  });

  test("drops reservations when the API server was restored from a backup (CLAIM-56)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [memberNamed("a")] }, reservations);
    const take = (by: string) => reserve(reservations, by)?.metadata.name;
    expect([take("one"), take("two")]).toEqual(["a", undefined]);
    reservations.follow({ deltas: [], initial: false, wentBack: true });
    expect(take("two")).toBe("a");
  });

  test("observes the offered member", () => {
    expect(look({ sandboxes: [memberNamed("a")] }).reservation).toMatchObject({
      type: "member",
      member: { sandbox: { metadata: { namespace: "default", name: "a" } } },
    });
  });
});
