import { expect, test } from "vitest";
import { splitAuthority, splitTarget } from "./request-target.ts";

test.for([
  ["/a/../b//c?d=%2F#e", { authority: undefined, target: "/a/../b//c?d=%2F#e" }],
  ["//evil/path", { authority: undefined, target: "//evil/path" }],
  ["http://box.team.localhost/a?b", { authority: "box.team.localhost", target: "/a?b" }],
  ["HTTP://box.team.localhost:80", { authority: "box.team.localhost:80", target: "/" }],
  ["http://box?x", { authority: "box", target: "/?x" }],
  ["http://user@box/", undefined],
  ["ftp://box/", undefined],
  ["*", undefined],
  ["box:80", undefined],
  ["", undefined],
] as const)("splits %j", ([url, expected]) => {
  expect(splitTarget(url)).toEqual(expected);
});

test.for([
  ["box.team.localhost:5432", { host: "box.team.localhost", port: "5432" }],
  ["box", undefined],
  ["a@b:80", undefined],
  ["[::1]:80", undefined],
  ["box:80/x", undefined],
] as const)("splits the authority %j", ([text, expected]) => {
  expect(splitAuthority(text)).toEqual(expected);
});
