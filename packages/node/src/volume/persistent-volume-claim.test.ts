import { KubeError } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { persistentVolumeClaim } from "./persistent-volume-claim.ts";
import type { VolumeContext } from "./volume-kind.ts";

test.for([
  ["that is not there", new KubeError("NotFound", "not found"), 'there is no claim "data"'],
  ["that nobody can read", new KubeError("Timeout", "too slow"), 'claim "data" cannot be read: too slow'],
] as const)("a claim %s is told so", async ([, error, expected]) => {
  const client = { get: () => Promise.reject(error) };
  const context = { client, pod: { metadata: { namespace: "a" } } } as unknown as VolumeContext;
  const volume = { name: "v", persistentVolumeClaim: { claimName: "data" } };
  await expect(persistentVolumeClaim.mount(volume, context)).rejects.toThrow(expected);
});
