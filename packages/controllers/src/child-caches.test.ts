import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { trimPod } from "./child-caches.ts";

test("of a Pod only what decisions read is kept, and no patch can bring back what others took away", () => {
  const ownerReferences = [{ apiVersion: "v1", kind: "X", name: "x", uid: "u", controller: true }];
  const state = { terminated: { exitCode: 137, reason: "OOMKilled" } };
  const container = { name: "c", image: "i", imageID: "sha256:1", ready: false, restartCount: 7, state };
  const status = { phase: "Failed", reason: "Evicted", message: "m", podIPs: [{ ip: "10.0.0.2" }], hostIP: "10.1.0.1" };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", labels: { a: "1" }, ownerReferences, finalizers: ["f"], managedFields: [{}] },
    spec: {
      containers: [{ name: "c", image: "i", env: [{ name: "SECRET", value: "s" }] }],
      nodeName: "n",
      restartPolicy: "Never",
    },
    status: { ...status, containerStatuses: [container] },
  };
  expect(trimPod(pod)).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", labels: { a: "1" }, ownerReferences },
    spec: { containers: [], nodeName: "n", restartPolicy: "Never" },
    status: {
      phase: "Failed",
      reason: "Evicted",
      message: "m",
      podIPs: [{ ip: "10.0.0.2" }],
      containerStatuses: [{ name: "c", ready: false, state, image: "", imageID: "", restartCount: 0 }],
    },
  });
  expect(trimPod({ metadata: { name: "p" } })).toEqual({ metadata: { name: "p" }, spec: { containers: [] } });
});
