import { expect, test } from "vitest";
import { report } from "./doctor.ts";

test("reports a machine that has everything", () => {
  expect(report([{ name: "conmon", state: "ok", detail: "/usr/bin/conmon" }])).toBe(
    ["CHECK    STATE   DETAIL", "conmon   ok      /usr/bin/conmon", "", "The box can run here."].join("\n"),
  );
});

test("reports what is missing and how to install it", () => {
  const text = report([
    { name: "nft", state: "missing", detail: "not\n  found", remedy: "install it" },
    { name: "runtime gvisor", state: "lacking", detail: "x".repeat(300) },
  ]);
  expect(text.split("\n")).toEqual([
    "CHECK            STATE     DETAIL",
    "nft              missing   not found",
    `runtime gvisor   lacking   ${"x".repeat(199)}…`,
    "",
    "To do:",
    "  nft: install it",
    "",
    "The box cannot run here.",
  ]);
});
