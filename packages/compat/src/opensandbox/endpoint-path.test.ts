import { describe, expect, test } from "vitest";
import { endpointPath, parseEndpointPath } from "./endpoint-path.ts";

describe("parseEndpointPath", () => {
  test.for([
    ["/sandboxes/team/box/8080", { namespace: "team", name: "box", port: 8080, link: undefined, rest: "/" }],
    ["/sandboxes/team/box/8080/", { namespace: "team", name: "box", port: 8080, link: undefined, rest: "/" }],
    ["/sandboxes/team/a-b/1/x/~1~y", { namespace: "team", name: "a-b", port: 1, link: undefined, rest: "/x/~1~y" }],
    [
      "/sandboxes/team/box/80~99~aB_-/x",
      { namespace: "team", name: "box", port: 80, link: { expires: 99, signature: "aB_-" }, rest: "/x" },
    ],
  ] as const)("reads %j", ([path, parsed]) => {
    expect(parseEndpointPath(path)).toEqual(parsed);
    expect(path.startsWith(endpointPath(parsed))).toBe(true);
  });

  test.for([
    "/sandboxes/team/box",
    "/sandboxes/team/box/0",
    "/sandboxes/team/box/65536",
    "/sandboxes/team/box/08",
    "/sandboxes/Team/box/80",
    "/sandboxes/team/-box/80",
    "/sandboxes/../box/80",
    "/sandboxes/team/box/80~99",
    "/sandboxes/team/box/80~x~y/",
    "/sandboxes/team/box/80~099~y/",
    `/sandboxes/team/${"a".repeat(64)}/80`,
    "/x/sandboxes/team/box/80",
  ])("refuses %j", (path) => expect(parseEndpointPath(path)).toBeUndefined());
});
