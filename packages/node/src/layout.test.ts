import { expect, test } from "vitest";
import { containerId, layoutOf, parseContainerId } from "./layout.ts";

test("two data folders have different names for everything outside of them", () => {
  const [a, b] = [layoutOf("/srv/a"), layoutOf("/srv/b")];
  const outside = ["id", "runDir", "cgroupParent", "bridge", "netnsPrefix", "vethPrefix", "firewallTable"] as const;
  expect(outside.filter((name) => a[name] === b[name])).toEqual([]);
  expect(layoutOf("/srv/x/../a/")).toEqual(a);
});

test("interface names are not too long", () => {
  const { bridge, vethPrefix } = layoutOf("/srv/a");
  expect([bridge.length <= 15, vethPrefix.length + 4 <= 15]).toEqual([true, true]);
});

test.for([
  ["5f1c-2d3e_main_0", { uid: "5f1c-2d3e", attempt: 0 }],
  ["u_a-b_12", { uid: "u", attempt: 12 }],
  ["u_a-long-na.0123456789_3", { uid: "u", attempt: 3 }],
] as const)("parses the container id %s", ([id, expected]) => {
  expect(parseContainerId(id)).toEqual(expected);
});

test("the socket of gVisor has a path that is short enough, whatever the name of the container", () => {
  const uid = "5f1c2d3e-0000-4000-8000-000000000000";
  const names = ["main", "a".repeat(63), `${"a".repeat(62)}b`];
  const ids = names.map((name) => containerId(uid, name, 999));
  expect(new Set(ids).size).toBe(names.length);
  const sockets = ids.map((id) => `${layoutOf("/srv/a").runDir}/gvisor/runsc-${id}.sock`);
  expect(sockets.filter((path) => path.length > 107)).toEqual([]);
  expect(ids.map((id) => parseContainerId(id)?.uid)).toEqual([uid, uid, uid]);
});

test.for(["", "u_main", "u_main_x", "../x_main_0", "u_main_0.tmp", ".u_main_0"])("not a container id: %j", (id) => {
  expect(parseContainerId(id)).toBeUndefined();
});
