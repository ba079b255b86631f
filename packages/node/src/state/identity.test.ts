import { expect, test } from "vitest";
import { identityText, keepsIdentityOfSource } from "./identity.ts";

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

const token = { name: "agent-sandbox-token", mountPath: "/token" };
const volumes = [{ name: "agent-sandbox-token", secret: { secretName: "token" } }];

test.for([
  ["with the file", true, [token], false],
  ["without the file", false, [token], true],
  ["with a volume of the user over the file", true, [token, { name: "own", mountPath: "/run/agent-sandbox" }], true],
  ["without sandboxd", false, [], false],
] as const)("whether a fork of an image %s keeps the identity of its source", ([, identity, mounts, keeps]) => {
  const containers = [{ name: "main", image: "host", volumeMounts: [...mounts] }];
  expect(keepsIdentityOfSource({ metadata: {}, spec: { containers, volumes } }, { identity })).toBe(keeps);
});
