import type { Pod, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { epochOf } from "./epoch.ts";

const sandbox = (epoch?: number): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: {},
  spec: { podTemplate: { spec: { containers: [] } } },
  ...(epoch === undefined ? {} : { status: { suspension: { epoch } } }),
});
const pod = (epoch?: string): Pod => ({
  metadata: epoch === undefined ? {} : { annotations: { "agents.x-k8s.io/epoch": epoch } },
});

test.for<[string, Sandbox, Pod, number | undefined]>([
  ["is absent for a sandbox without saved memory", sandbox(), pod(), undefined],
  ["is the one in the status", sandbox(4), pod(), 4],
  ["is the Pod's when the status is older", sandbox(4), pod("5"), 5],
  ["is zero for memory that was not resumed yet", sandbox(), pod("0"), 0],
  ["ignores text that is not a number", sandbox(4), pod("5\r\nx-injected: 1"), 4],
  ["ignores negative numbers", sandbox(), pod("-1"), undefined],
  ["ignores very large numbers", sandbox(), pod("9".repeat(16)), undefined],
])("the epoch %s", ([, object, running, expected]) => {
  expect(epochOf(object, running)).toBe(expected);
});
