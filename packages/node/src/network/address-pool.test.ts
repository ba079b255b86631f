import { describe, expect, test } from "vitest";
import { AddressPool } from "./address-pool.ts";

/** 10.0.0.0/29: the gateway is .1, Pods have .2 to .6. */
const open = (): AddressPool => new AddressPool({ base: 0x0a000000, prefix: 29 });

describe("AddressPool", () => {
  test("gives every address once, and fails when all are in use", () => {
    const pool = open();
    const given = Array.from({ length: 5 }, () => pool.take());
    expect({ gateway: pool.gateway, given }).toEqual({
      gateway: "10.0.0.1",
      given: ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"],
    });
    expect(() => pool.take()).toThrow('Cannot give the Pod an address: all 5 addresses of "10.0.0.0/29" are in use');
  });

  test("a namespace never has more addresses than are left for the others", () => {
    const pool = open();
    pool.claim("10.0.0.6", "mallory");
    pool.take({ namespace: "mallory" });
    pool.take({ namespace: "mallory" });
    expect(() => pool.take({ namespace: "mallory" })).toThrow(
      'namespace "mallory" uses 3 addresses of "10.0.0.0/29", and the rest is reserved for other namespaces',
    );
    expect(pool.take({ namespace: "alice" })).toBe("10.0.0.4");
    pool.release("10.0.0.6");
    pool.release("10.0.0.2");
    expect(pool.take({ namespace: "mallory" })).toBe("10.0.0.5");
  });

  test("reuses a released address as late as possible", () => {
    const pool = open();
    pool.take();
    pool.release("10.0.0.2");
    expect(Array.from({ length: 5 }, () => pool.take())).toEqual([
      "10.0.0.3",
      "10.0.0.4",
      "10.0.0.5",
      "10.0.0.6",
      "10.0.0.2",
    ]);
  });

  test("does not give the address of a Pod that existed before the restart", () => {
    const pool = open();
    expect(pool.claim("10.0.0.3")).toBe(true);
    expect(Array.from({ length: 4 }, () => pool.take())).toEqual(["10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.2"]);
  });

  test.for(["10.0.0.1", "10.0.0.0", "10.0.0.7", "10.0.1.2", "192.168.0.1", "nonsense", "10.0.0.300"])(
    "does not accept %s as the address of a Pod",
    (address) => {
      expect(open().claim(address)).toBe(false);
    },
  );

  test("an address is claimed once", () => {
    const pool = open();
    expect([pool.claim("10.0.0.4"), pool.claim("10.0.0.4")]).toEqual([true, false]);
  });

  test("interfaces are named by the address within the network", () => {
    expect([
      open().suffix("10.0.0.5"),
      new AddressPool({ base: 0x0a000000, prefix: 16 }).suffix("10.0.255.254"),
    ]).toEqual(["0005", "fffe"]);
  });

  test("an owner gets its reserved address again, and others get it last", () => {
    const pool = open();
    expect(pool.take({ owner: "a" })).toBe("10.0.0.2");
    pool.release("10.0.0.2");
    expect([pool.take(), pool.take({ owner: "b" }), pool.take(), pool.take()]).toEqual([
      "10.0.0.3",
      "10.0.0.4",
      "10.0.0.5",
      "10.0.0.6",
    ]);
    expect(pool.take({ owner: "a" })).toBe("10.0.0.2");
    pool.release("10.0.0.2");
    expect(pool.take()).toBe("10.0.0.2");
    expect(pool.reservations).toEqual({ b: "10.0.0.4" });
  });

  test("reservations survive a restart, and are dropped with their owners", () => {
    const pool = open();
    pool.remember({ a: "10.0.0.5", b: "10.0.0.6", c: "10.9.9.9", d: 7, e: "10.0.0.1" });
    expect(pool.reservations).toEqual({ a: "10.0.0.5", b: "10.0.0.6" });
    pool.forgetAllBut(new Set(["a"]));
    expect([pool.take({ owner: "a" }), pool.take({ owner: "b" })]).toEqual(["10.0.0.5", "10.0.0.2"]);
    expect(pool.take({ owner: "a" })).toBe("10.0.0.3");
  });
});
