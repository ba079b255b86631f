import type { Container, Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { environmentFor, expand, hostnameOf } from "./environment.ts";

describe("expand()", () => {
  const environment = new Map([
    ["A", "1"],
    ["EMPTY", ""],
    ["NESTED", "$(A)"],
  ]);
  test.for([
    ["a known name", "x$(A)y", "x1y"],
    ["an empty value", "[$(EMPTY)]", "[]"],
    ["an unknown name stays as written", "$(NOPE)", "$(NOPE)"],
    ["an escaped reference", "$$(A)", "$(A)"],
    ["an escaped dollar before a reference", "$$$(A)", "$1"],
    ["two dollars", "a$$b", "a$b"],
    ["a shell's own notation", "$A ${A} $", "$A ${A} $"],
    ["an open bracket without its end", "$(A", "$(A"],
    ["a value is not expanded again", "$(NESTED)", "$(A)"],
  ] as const)("%s", ([, text, expected]) => {
    expect(expand(text, environment)).toBe(expected);
  });
});

describe("environmentFor()", () => {
  const pod: Pod = { metadata: { name: "p", namespace: "n", uid: "u" }, spec: { nodeName: "box", containers: [] } };

  test("sets the image's variables, then the Pod's in order, each able to use those before", () => {
    const container: Container = {
      name: "main",
      env: [
        { name: "FIRST", value: "$(PATH):$(SECOND)" },
        { name: "SECOND", value: "two" },
        { name: "THIRD", value: "$(SECOND)/$(IP)" },
        { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        { name: "WHO", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "AT", value: "$(IP)" },
        { name: "NONE" },
      ],
    };
    expect(Object.fromEntries(environmentFor(pod, container, "10.1.2.3", new Map([["PATH", "/bin"]])))).toEqual({
      PATH: "/bin",
      HOSTNAME: "p",
      FIRST: "/bin:$(SECOND)",
      SECOND: "two",
      THIRD: "two/$(IP)",
      IP: "10.1.2.3",
      WHO: "p",
      AT: "10.1.2.3",
      NONE: "",
    });
  });
});

describe("hostnameOf()", () => {
  test.for([
    ["the Pod's name", { name: "web-1" }, undefined, "web-1"],
    ["its own hostname first", { name: "web-1" }, "db", "db"],
    [
      "cut to what the kernel takes, without a mark at its end",
      { name: `${"a".repeat(62)}.b` },
      undefined,
      "a".repeat(62),
    ],
  ] as const)("%s", ([, metadata, hostname, expected]) => {
    const spec = { containers: [], ...(hostname !== undefined && { hostname }) };
    expect(hostnameOf({ metadata, spec })).toBe(expected);
  });
});
