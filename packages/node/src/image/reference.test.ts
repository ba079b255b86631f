import { describe, expect, test } from "vitest";
import { canonicalName, parseReference } from "./reference.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("parseReference()", () => {
  test.for([
    ["debian", "docker.io/library/debian:latest"],
    ["debian:12", "docker.io/library/debian:12"],
    ["someone/thing", "docker.io/someone/thing:latest"],
    ["docker.io/debian", "docker.io/library/debian:latest"],
    ["index.docker.io/library/debian", "docker.io/library/debian:latest"],
    ["localhost/a", "localhost/a:latest"],
    ["localhost:5000/a/b/c:v1.0_x-y", "localhost:5000/a/b/c:v1.0_x-y"],
    ["registry.example.com/a__b/c--d", "registry.example.com/a__b/c--d:latest"],
    ["[::1]:5000/a", "[::1]:5000/a:latest"],
    [`debian@${digest}`, `docker.io/library/debian@${digest}`],
    [`debian:12@${digest}`, `docker.io/library/debian@${digest}`],
    ["localhost:5000/a", "localhost:5000/a:latest"],
  ] as const)("%s", ([text, expected]) => {
    const parsed = parseReference(text);
    expect("reference" in parsed ? canonicalName(parsed.reference) : parsed).toBe(expected);
  });

  test.for([
    "",
    " ",
    "Debian",
    "debian:",
    "debian:-x",
    `debian:${"x".repeat(129)}`,
    "a//b",
    "a/",
    "/a",
    "a/../b",
    "a@sha256:12",
    `a@${digest}@${digest}`,
    `a@${digest.toUpperCase()}`,
    "-a.example.com/b",
    "example.com:port/a",
    "a b",
    "a\0b",
    "--help",
    "a".repeat(300),
  ])('refuses "%s"', (text) => {
    expect(parseReference(text)).toEqual({ error: expect.stringContaining("Invalid image reference") });
  });
});
