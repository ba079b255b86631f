import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { runtimeOf } from "./pod-runtime.ts";
import type { ContainerRecord } from "./record.ts";

const run = {} as NonNullable<ContainerRecord["run"]>;
const ended = {} as NonNullable<ContainerRecord["ended"]>;

test.for([
  ["the default for the first container", {}, {}, "gvisor"],
  ["what the Pod names", { runtimeClassName: "kata" }, {}, "kata"],
  ["what another container runs with, whatever the default is now", {}, { main: { run, runtime: "runc" } }, "runc"],
  ["the default when none runs any more", {}, { main: { run, ended, runtime: "runc" } }, "gvisor"],
  ["the default when an attempt has not come about", {}, { main: { runtime: "runc" } }, "gvisor"],
] as const)("%s", ([, spec, containers, expected]) => {
  const kept = containers as unknown as Record<string, ContainerRecord>;
  expect(runtimeOf({ spec } as Pod, { containers: kept }, "gvisor")).toBe(expected);
});
