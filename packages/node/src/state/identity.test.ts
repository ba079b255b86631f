import { expect, test } from "vitest";
import { identityText } from "./identity.ts";

const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "box", uid: "u1", controller: true };
const podWith = (epoch: string) => ({
  metadata: { annotations: { "agents.x-k8s.io/epoch": epoch }, ownerReferences: [owner] },
});

test.for([
  ["5", "5"],
  ["x\nSANDBOX_UID=other", "0"],
] as const)("the identity of a sandbox with the epoch annotation %j", ([annotation, epoch]) => {
  expect(identityText(podWith(annotation), { namespace: "ns", keptFor: "u1" })).toBe(
    `SANDBOX_NAME=box\nSANDBOX_NAMESPACE=ns\nSANDBOX_UID=u1\nSANDBOX_EPOCH=${epoch}\n`,
  );
});
