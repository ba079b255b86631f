import { type OwnerReference, type Pod, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { keepingMetadata, openTestApi } from "../testing/test-api.ts";
import { controllingSandbox, keptForSandbox } from "./controlling-sandbox.ts";
import type { PodEvent } from "./effects.ts";

const spec = { podTemplate: { spec: { containers: [] } } };
const { client } = openTestApi();
const make = (namespace: string, name: string, annotations = {}): Promise<Sandbox> =>
  client.create(sandboxes, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { namespace, name, annotations },
    spec,
  });
const victim = await make("victim", "box");
const own = await make("attacker", "box", { "agents.x-k8s.io/pod-name": "noted" });

const podOf = (namespace: string, name: string, owner: Partial<OwnerReference> = {}): Pod => {
  const { ownerReferences = [] } = keepingMetadata(namespace === "victim" ? victim : own);
  const references = ownerReferences.map((reference) => ({ ...reference, ...owner }));
  return { metadata: { namespace, name, ownerReferences: references } };
};
const victimUid = victim.metadata.uid ?? "";

test.for<[what: string, pod: Pod, expected: string | undefined]>([
  ["the Pod of a Sandbox", podOf("victim", "box"), victimUid],
  ["a Pod that the Sandbox adopted", podOf("attacker", "noted"), own.metadata.uid],
  ["a Pod without a controller", { metadata: { namespace: "victim", name: "box" } }, undefined],
  ["the UID of a Sandbox in another namespace", podOf("attacker", "box", { uid: victimUid }), undefined],
  ["a name that exists only in another namespace", podOf("elsewhere", "box", { uid: victimUid }), undefined],
  ["another kind with the UID", podOf("victim", "box", { kind: "SandboxClaim" }), undefined],
  ["another group with the UID", podOf("victim", "box", { apiVersion: "x.k8s.io/v1" }), undefined],
  ["an owner that is not the controller", podOf("victim", "box", { controller: false }), undefined],
  ["an empty UID", podOf("victim", "box", { uid: "" }), undefined],
  ["a Pod of another name", podOf("victim", "other"), undefined],
])("the controlling Sandbox: %s", async ([, pod, expected]) => {
  expect(await controllingSandbox(client, pod)).toBe(expected);
});

test.for([
  ["no annotation", undefined, victimUid, ""],
  ["the Sandbox that controls it", victimUid, victimUid, victimUid],
  ["another Sandbox", victimUid, own.metadata.uid, ""],
  ["a Sandbox, for a Pod without a controller", victimUid, undefined, ""],
  ["a path", "../../etc", victimUid, ""],
] as const)("keep-rootfs names: %s", ([, wanted, sandbox, expected]) => {
  const events: PodEvent[] = [];
  const annotations = wanted === undefined ? {} : { "agents.x-k8s.io/keep-rootfs": wanted };
  const recordEvent = (_: Pod, event: PodEvent): number => events.push(event);
  expect(keptForSandbox({ recordEvent }, { metadata: { annotations } }, sandbox)).toBe(expected);
  expect(events.map(({ reason }) => reason)).toEqual(
    wanted === undefined || expected !== "" ? [] : ["KeepRootfsIgnored"],
  );
});
