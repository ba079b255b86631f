import { KubeError } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { CommandError } from "../command-error.ts";
import { RefusedError } from "./discovery.ts";
import { nextStepAfter } from "./next-step.ts";

const forbidden = 'Cannot list pods: pods is forbidden: User "u" cannot list resource "pods" in API group ""';

test.each([
  ["a permission", new KubeError("Forbidden", forbidden), /Role/],
  ["a permission, read as JSON", new RefusedError(forbidden, 403), /Role/],
  ["the cause of an error", new CommandError("Cannot apply", { cause: new KubeError("Forbidden", forbidden) }), /Role/],
  ["a permission for a stream", new CommandError(forbidden), /Role/],
  ["unknown credentials", new RefusedError("Unauthorized", 401), /kubeconfig/],
])("%s has a next step", (_, error, step) => {
  expect(nextStepAfter(error)).toMatch(step);
});

test.each([
  ["a Pod that admission refuses", new KubeError("Forbidden", 'pods "x" is forbidden: RuntimeClass "kata" not found')],
  ["a missing object", new KubeError("NotFound", "not found")],
  ["something else", "text"],
])("%s has none", (_, error) => {
  expect(nextStepAfter(error)).toBeUndefined();
});
