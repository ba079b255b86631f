import { expect, test } from "vitest";
import { report, reportState } from "./doctor.ts";

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

test("reports saved images and snapshots", () => {
  const amounts = {
    savedImages: { used: 3, most: 2000 },
    savedBytes: { used: 5 * 2 ** 20, most: 10 * 2 ** 30 },
    snapshots: { used: 0, most: 256 },
    snapshotBytes: { used: 0, most: 2 ** 30 },
    diskBytes: { used: 1, most: 2 },
  };
  expect(
    reportState({ amounts })[1]
      ?.split("\n")
      .map((line) => line.trim().split(/ {2,}/)),
  ).toEqual([
    ["STATE", "USED", "LIMIT"],
    ["saved images of suspended sandboxes", "3", "2000"],
    ["size of saved images", "5.0MiB", "10.0GiB"],
    ["snapshots", "0", "256"],
    ["size of snapshots", "0B", "1.0GiB"],
  ]);
});

test.for([undefined, { amounts: {} }])("says that the node has not reported its state: %j", (found) => {
  expect(reportState(found)).toEqual(["", "The node has not reported its saved state yet. Try again in a minute."]);
});
