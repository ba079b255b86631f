import type { Container, Pod } from "@agent-sandbox/api";
import { hostImageName } from "../image/image-store.ts";
import { podPaths } from "../layout.ts";
import { podResources } from "../oci/resources.ts";
import { createContainer, nextAttempt, type Restoration, startCreated } from "./create-container.ts";
import type { Effects } from "./effects.ts";
import { holderName } from "./members.ts";
import { aloneNamespaces } from "./namespaces.ts";
import { runtimeOf } from "./pod-runtime.ts";
import type { PodRecord } from "./record.ts";
import { attachNetwork } from "./start-container.ts";

/** Runs as nobody, without capabilities. */
const container: Container = {
  name: holderName,
  image: hostImageName,
  securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
};
const nobody = { uid: 65_534, gid: 65_534, groups: [] };

/**
 * Starts the holder, the counterpart of the kubelet's pause container: the others share its namespaces, or its sandbox where
 * the runtime has one sandbox per Pod. It does nothing but reap orphaned processes, and ends with the Pod.
 */
export async function startHolder(effects: Effects, pod: Pod, record: PodRecord, attempt: number): Promise<void> {
  await runHolder(effects, pod, record, { attempt });
}

/** Starts the holder, or restores it from a checkpoint. */
export async function runHolder(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  { attempt, restoration }: { readonly attempt: number; readonly restoration?: Restoration },
): Promise<void> {
  const { machine, rules } = effects;
  const image = await machine.images.resolve(hostImageName);
  const before = record.containers[holderName];
  const runtime = runtimeOf(pod, record, rules.defaultRuntime);
  const isSame = before?.attempt === attempt && before.ended === undefined;
  const kept = isSame ? before : nextAttempt(before, attempt, { runtime, image: image.id });
  const { netnsPath } = podPaths(machine.layout, record.uid);
  const again = restoration?.again ?? isSame;
  const run =
    kept.run ??
    (await createContainer({
      machine,
      record,
      name: holderName,
      kept,
      again,
      image,
      role: "sandbox",
      restoration,
      network: () => attachNetwork(machine, record, { runtime, role: "sandbox", again }),
      content: () =>
        Promise.resolve({
          pod,
          container,
          environment: image.config.environment,
          user: nobody,
          namespaces: aloneNamespaces(netnsPath),
          mounts: [],
          // Where the whole Pod is one sandbox, the limits of this container apply to all of it.
          resources: podResources(pod, machine.defaults, machine.bounds),
        }),
    }));
  await startCreated({ machine, record, name: holderName, kept }, run);
}
