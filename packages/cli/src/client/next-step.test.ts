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
  ["a missing object", new KubeError("NotFound", 'secrets "a" not found'), /: agent-sandbox get secrets$/],
  [
    "a missing object of a group",
    new CommandError('Cannot export: sandboxsnapshots.agents.x-k8s.io "a" not found'),
    /: agent-sandbox get sandboxsnapshots$/,
  ],
  ["a missing container", new CommandError("container x is not valid for pod work"), /agent-sandbox describe SANDBOX/],
  ["a quantity", new KubeError("Invalid", "memory in body should match '^([numkMGTPE]i)$'"), /such as 500m or 512Mi$/],
  ["no kubeconfig", new CommandError('Cannot find a kubeconfig: there is no "/x"'), /--kubeconfig or KUBECONFIG$/],
  ["another file", new CommandError('Cannot read archive "/x": Unexpected end of data'), /docker save IMAGE/],
  ["unknown credentials", new RefusedError("Unauthorized", 401), /kubeconfig/],
])("%s has a next step", (_, error, step) => {
  expect(nextStepAfter(error)).toMatch(step);
});

test.each([
  ["a Pod that admission refuses", new KubeError("Forbidden", 'pods "x" is forbidden: RuntimeClass "kata" not found')],
  ["an object without a name", new KubeError("NotFound", "not found")],
  ["a missing archive", new CommandError('Cannot read archive "/x": no such file or directory')],
  ["something else", "text"],
])("%s has none", (_, error) => {
  expect(nextStepAfter(error)).toBeUndefined();
});
