import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { runtimeOf } from "./pod-runtime.ts";
import type { ContainerRecord } from "./record.ts";

const run = {} as NonNullable<ContainerRecord["run"]>;
const ended = {} as NonNullable<ContainerRecord["ended"]>;

test.for([
  ["the default for the first container", {}, {}, "gvisor"],
  ["the Pod's runtimeClassName", { runtimeClassName: "kata" }, {}, "kata"],
  [
    "the runtime of a running container, even if the default has changed",
    {},
    { main: { run, runtime: "runc" } },
    "runc",
  ],
  ["the default when no container runs any more", {}, { main: { run, ended, runtime: "runc" } }, "gvisor"],
  ["the default when no attempt has started", {}, { main: { runtime: "runc" } }, "gvisor"],
] as const)("%s", ([, spec, containers, expected]) => {
  const kept = containers as unknown as Record<string, ContainerRecord>;
  expect(runtimeOf({ spec } as Pod, { containers: kept }, "gvisor")).toBe(expected);
});
