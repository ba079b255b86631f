import { describe, expect, test } from "vitest";
import { findRoute, type RouteHeaders, type RouteOptions } from "./find-route.ts";
import { routeErrors } from "./route.ts";

const options: RouteOptions = {
  domains: ["localhost", "sandboxes.example.com"],
  allowLoopbackPodIp: false,
  hosts: undefined,
};
const ask = (headers: RouteHeaders, { host = "router:8080", target = "/a?b" } = {}, over: Partial<RouteOptions> = {}) =>
  findRoute({ host, target, headers }, { ...options, ...over });
const routed = (by: string, over: object) => ({
  route: { by, namespace: "default", port: 8888, uid: undefined, podIp: undefined, target: "/a?b", ...over },
});

describe("by headers", () => {
  test.for<[string, RouteHeaders, object]>([
    ["takes the defaults", { id: "box" }, routed("header", { name: "box" })],
    [
      "takes everything that is given",
      { id: "box", namespace: "team", port: "3000", podIp: "10.1.2.3", uid: "u-1" },
      routed("header", { name: "box", namespace: "team", port: 3000, podIp: "10.1.2.3", uid: "u-1" }),
    ],
    [
      "takes an empty value for the default",
      { id: "box", namespace: "", port: "", podIp: "", uid: "" },
      routed("header", { name: "box" }),
    ],
    ["refuses an empty ID", { id: "" }, { error: routeErrors.missingId }],
    ["refuses an ID with dots", { id: "not.a.label" }, { error: routeErrors.id }],
    ["refuses an ID in upper case", { id: "Box" }, { error: routeErrors.id }],
    ["refuses an ID that is a path", { id: "../box" }, { error: routeErrors.id }],
    ["refuses an ID that ends with a hyphen", { id: "box-" }, { error: routeErrors.id }],
    ["refuses an ID of 64 characters", { id: "a".repeat(64) }, { error: routeErrors.id }],
    ["refuses an ID with a line break", { id: "box\n" }, { error: routeErrors.id }],
    ["refuses a namespace that is none", { id: "box", namespace: "a/b" }, { error: routeErrors.namespace }],
    [
      "names the ID first when all is wrong",
      { id: "B", namespace: "B", port: "x", podIp: "x" },
      { error: routeErrors.id },
    ],
    [
      "names the namespace before the port",
      { id: "b", namespace: "B", port: "x", podIp: "x" },
      { error: routeErrors.namespace },
    ],
    ["names the port before the address", { id: "b", port: "x", podIp: "x" }, { error: routeErrors.port }],
    ["names the address last", { id: "b", podIp: "x" }, { error: routeErrors.podIp }],
  ])("%s", ([, headers, expected]) => {
    expect(ask(headers)).toEqual(expected);
  });

  test("accepts a label of 63 characters", () => {
    expect(ask({ id: "a".repeat(63) })).toEqual(routed("header", { name: "a".repeat(63) }));
  });

  test.for(["0", "65536", "-1", "80.0", "+80", " 80", "0x50", "080", "8e1", "99999999999"])(
    "refuses port %j",
    (port) => {
      expect(ask({ id: "box", port })).toEqual({ error: routeErrors.port });
    },
  );
});

describe("by host", () => {
  test.for<[string, string, object]>([
    ["a name alone", "box.team.localhost", { name: "box", namespace: "team" }],
    ["a port in the Host header", "box.team.localhost:8080", { name: "box", namespace: "team" }],
    ["a port in front", "3000-box.team.localhost", { name: "box", namespace: "team", port: 3000 }],
    ["a name with digits", "3000-8080-box.team.localhost", { name: "8080-box", namespace: "team", port: 3000 }],
    ["another domain, upper case, a final dot", "Box.Team.Sandboxes.Example.Com.", { name: "box", namespace: "team" }],
  ])("reads %s", ([, host, expected]) => {
    expect(ask({}, { host })).toEqual(routed("host", expected));
  });

  test.for([
    "localhost",
    "box.localhost",
    "a.b.c.localhost",
    "evillocalhost",
    "[::1]:8080",
    "127.0.0.1",
    "a.b.localhost.evil",
  ])("does not take %j for a sandbox", (host) => {
    expect(ask({}, { host })).toEqual({ none: true });
  });

  test.for([
    "0-box.team.localhost",
    "70000-box.team.localhost",
    "-box.team.localhost",
    "box.-.localhost",
    "80-.t.localhost",
  ])("refuses %j", (host) => {
    expect(ask({}, { host })).toHaveProperty("error");
  });

  test("a host name that names a sandbox cannot be overridden by headers", () => {
    const host = "3000-box.team.localhost";
    for (const headers of [{ id: "other" }, { id: "box", namespace: "other" }, { port: "8888" }]) {
      expect(ask(headers, { host })).toHaveProperty("error");
    }
    expect(ask({ id: "box", namespace: "team", port: "3000" }, { host })).toHaveProperty("route.by", "host");
    expect(ask({ podIp: "10.0.0.9", uid: "other" }, { host })).toEqual(
      routed("host", { name: "box", namespace: "team", port: 3000 }),
    );
  });
});

describe("by path", () => {
  test.for<[string, object]>([
    ["/sandboxes/team/box/3000/x/y?z=1", { target: "/x/y?z=1" }],
    ["/sandboxes/team/box/3000/", { target: "/" }],
    ["/sandboxes/team/box/3000", { target: "/" }],
    ["/sandboxes/team/box/3000?z", { target: "/?z" }],
    ["/sandboxes/team/box/3000//a/../%2F%00/./b", { target: "//a/../%2F%00/./b" }],
  ])("reads %s", ([target, expected]) => {
    expect(ask({}, { target })).toEqual(routed("path", { namespace: "team", name: "box", port: 3000, ...expected }));
  });

  test.for<[string, string]>([
    ["/sandboxes/team/../3000/", routeErrors.id],
    ["/sandboxes/team/b%6fx/3000/", routeErrors.id],
    ["/sandboxes/../box/3000/", routeErrors.namespace],
    ["/sandboxes/%2e%2e/box/3000/", routeErrors.namespace],
    ["/sandboxes/team/box/0/", routeErrors.port],
    ["/sandboxes/team/box/http/", routeErrors.port],
    ["/sandboxes/team/box//", routeErrors.port],
  ])("refuses %s", ([target, error]) => {
    expect(ask({}, { target })).toEqual({ error });
  });

  test("ignores other paths", () => {
    for (const target of ["/", "/sandboxes", "/Sandboxes/team/box/3000/", "//sandboxes/team/box/3000/"]) {
      expect(ask({}, { target })).toEqual({ none: true });
    }
    expect(ask({}, { target: "/sandboxes/team/box" })).toHaveProperty("error");
  });

  test("is overridden by headers", () => {
    const target = "/sandboxes/team/box/3000/";
    expect(ask({ id: "other" }, { target })).toEqual(routed("header", { name: "other", target }));
  });
});

test("refuses unknown host names if names are configured", () => {
  const hosts = ["router.example"];
  const error = { error: "Unknown host name." };
  expect(ask({ id: "box" }, { host: "evil.example" }, { hosts })).toEqual(error);
  expect(ask({}, { host: "evil.example", target: "/sandboxes/team/box/80/" }, { hosts })).toEqual(error);
  expect(ask({ id: "box" }, { host: "router.example:80" }, { hosts })).toHaveProperty("route");
  expect(ask({}, { host: "box.team.localhost" }, { hosts })).toHaveProperty("route");
});
