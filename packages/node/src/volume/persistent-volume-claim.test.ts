import { KubeError } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { persistentVolumeClaim } from "./persistent-volume-claim.ts";
import type { VolumeContext } from "./volume-kind.ts";

test.for([
  ["that does not exist", new KubeError("NotFound", "not found"), 'claim "data" not found'],
  ["that cannot be read", new KubeError("Timeout", "too slow"), 'cannot read claim "data": too slow'],
] as const)("a claim %s is told so", async ([, error, expected]) => {
  const client = { get: () => Promise.reject(error) };
  const context = { client, pod: { metadata: { namespace: "a" } } } as unknown as VolumeContext;
  const volume = { name: "v", persistentVolumeClaim: { claimName: "data" } };
  await expect(persistentVolumeClaim.mount(volume, context)).rejects.toThrow(expected);
});
