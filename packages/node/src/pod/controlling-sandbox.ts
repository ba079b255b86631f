import { controllerOf, groupOf, type Pod, podNameAnnotation, sandboxes } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { keepRootfsAnnotation } from "../image/kept-rootfs.ts";
import type { Effects } from "./effects.ts";

const sandboxGroup = groupOf(sandboxes.apiVersion);

/**
 * The UID of the Sandbox that controls a Pod, as the API shows it now. Owner references and annotations of a Pod are text
 * that anybody who may create Pods can write, so they only say where to look: a Sandbox of the Pod's own namespace must
 * exist with that name and UID, and the Pod must have the name of the Pod this Sandbox runs.
 */
export async function controllingSandbox(client: Client, pod: Pod): Promise<string | undefined> {
  const { namespace = "", name: podName = "" } = pod.metadata ?? {};
  const owner = controllerOf(pod);
  if (owner === undefined || owner.kind !== sandboxes.kind || groupOf(owner.apiVersion) !== sandboxGroup)
    return undefined;
  const found = await client.get(sandboxes, { namespace, name: owner.name }).catch((error: unknown) => {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  });
  if (found?.metadata.uid === undefined || found.metadata.uid !== owner.uid) return undefined;
  const names = [found.metadata.annotations?.[podNameAnnotation], found.metadata.name];
  return names.includes(podName) ? found.metadata.uid : undefined;
}

/** The Sandbox whose kept root filesystem a Pod may use; empty for none. */
export async function keptForOf(effects: Effects, pod: Pod): Promise<string> {
  return keptForSandbox(effects, pod, await controllingSandbox(effects.client, pod));
}

/** The same when the controlling Sandbox is known. A Pod that asks for another's files runs without them. */
export function keptForSandbox({ tell }: Pick<Effects, "tell">, pod: Pod, sandbox: string | undefined): string {
  const wanted = pod.metadata?.annotations?.[keepRootfsAnnotation] ?? "";
  if (wanted === "" || wanted === sandbox) return wanted;
  const text = `Annotation ${keepRootfsAnnotation} is ignored: no Sandbox of this namespace with that UID controls the Pod`;
  tell(pod, { type: "Warning", reason: "KeepRootfsIgnored", text });
  return "";
}
