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

test.for(["5f1c-2d3e_main_0", "u_a-b_12"])("parses the container id %s", (id) => {
  const { uid, container, attempt } = parseContainerId(id) ?? { uid: "", container: "", attempt: -1 };
  expect(containerId(uid, container, attempt)).toBe(id);
});

test.for(["", "u_main", "u_main_x", "../x_main_0", "u_main_0.tmp", ".u_main_0"])("not a container id: %j", (id) => {
  expect(parseContainerId(id)).toBeUndefined();
});
