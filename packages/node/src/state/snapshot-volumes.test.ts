import type { Pod, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { volumesToCapture } from "./snapshot-volumes.ts";

const pod = (...volumes: object[]): Pod => ({ spec: { containers: [], volumes } }) as Pod;
const sandbox = { spec: { volumeClaimTemplates: [{ metadata: { name: "data" } }] } } as unknown as Sandbox;
const scratch = { name: "scratch", emptyDir: {} };
const data = { name: "data", persistentVolumeClaim: { claimName: "data-box" } };
const settings = { name: "settings", configMap: { name: "c" } };
const shared = { name: "shared", persistentVolumeClaim: { claimName: "shared" } };
const host = { name: "host", hostPath: { path: "/srv" } };
const places = {
  volumes: {
    scratch: { path: "/s" },
    data: { path: "/d" },
    settings: { path: "/c" },
    host: { path: "/srv" },
    shared: { path: "/x" },
  },
};

test("contains the Pod's own folders and its claims, and nothing that is made again", () => {
  expect(volumesToCapture(pod(scratch, data, settings), sandbox, places, { volumes: "Include" })).toEqual([
    { name: "scratch", path: "/s", isClaim: false, isMemory: false },
    { name: "data", path: "/d", isClaim: true, isMemory: false },
  ]);
});

test("leaves out claims and folders of the machine that are excluded", () => {
  expect(volumesToCapture(pod(scratch, data, host, shared), sandbox, places, { volumes: "Exclude" })).toEqual([
    { name: "scratch", path: "/s", isClaim: false, isMemory: false },
  ]);
});

test.for([
  ["a folder of the machine", host],
  ["a claim that other Pods may use", shared],
] as const)("refuses %s that is not excluded", ([, volume]) => {
  const refusal = expect.objectContaining({ reason: "VolumeNotLocal" });
  expect(() => volumesToCapture(pod(volume), sandbox, places, {})).toThrow(refusal);
});
