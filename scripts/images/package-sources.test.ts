import { expect, test } from "vitest";
import { sourcesOf } from "./package-sources.ts";

const listed = `deb http://mirror.example/debian/ bookworm main
deb http://mirror.example/debian/ bookworm contrib
deb http://mirror.example/debian/ bookworm-updates main
deb http://mirror.example/debian-security/ bookworm-security main
deb http://mirror.example/debian/ bookworm main
deb http://mirror.example/debian/ bookworm-backports main
deb http://mirror.example/debian/ trixie main
`;

test("packages come from the suite, its updates and its security updates, each once", () => {
  expect(sourcesOf(listed, "bookworm")).toEqual([
    "deb http://mirror.example/debian-security/ bookworm-security main",
    "deb http://mirror.example/debian/ bookworm main",
    "deb http://mirror.example/debian/ bookworm-updates main",
  ]);
});

test("a machine without the suite has no sources", () => {
  expect(sourcesOf("deb http://mirror.example/debian/ trixie main\n", "bookworm")).toEqual([]);
  expect(sourcesOf("", "bookworm")).toEqual([]);
});
