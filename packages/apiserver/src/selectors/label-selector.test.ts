import { describe, expect, test } from "vitest";
import { parseLabelSelector } from "./label-selector.ts";

const labels = { app: "web", tier: "front", size: "12", "example.com/team": "a-b_c.d", empty: "" };

describe("parseLabelSelector()", () => {
  test.for([
    ["", true],
    ["app=web", true],
    ["app==web", true],
    ["app = web , tier = front", true],
    ["app=other", false],
    ["app!=other", true],
    ["missing!=x", true],
    ["app", true],
    ["missing", false],
    ["!missing", true],
    ["! app", false],
    ["app in (web, api)", true],
    ["app in (api)", false],
    ["app notin (api,db)", true],
    ["app notin (web)", false],
    ["missing notin (web)", true],
    ["example.com/team=a-b_c.d", true],
    ["empty=", true],
    ["app=,tier=front", false],
    ["empty in (,x)", true],
    ["empty in ()", true],
    ["size>11", true],
    ["size>12", false],
    ["size<13,app", true],
    ["app>1", false],
    ["missing<5", false],
    ["in=x", false],
  ] as const)("%s → %s", ([selector, expected]) => {
    const parsed = parseLabelSelector(selector);
    expect("matches" in parsed && parsed.matches(labels)).toBe(expected);
  });

  test.for([
    "app=web,",
    ",app",
    "app=web tier=x",
    "app in web",
    "app in (web",
    "app in (a b)",
    "=web",
    "!",
    "app=a=b",
    "app>x",
    "a b",
    "app=web;",
    "-app=x",
    "Example.com/x=y",
    "a/b/c=d",
    `${"x".repeat(64)}=y`,
    `app=${"y".repeat(64)}`,
    "app=-x",
  ])("refuses %s", (selector) => {
    expect(parseLabelSelector(selector)).toHaveProperty("problem");
  });

  test("does not match properties that every JavaScript object inherits", () => {
    const parsed = parseLabelSelector("constructor");
    expect("matches" in parsed && parsed.matches({})).toBe(false);
  });
});
