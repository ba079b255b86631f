import { controllerOf, groupOf, type Pod, podNameAnnotation, sandboxes } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { keepRootfsAnnotation } from "../image/kept-rootfs.ts";
import type { Effects } from "./effects.ts";
import { wantedFiles } from "./pod-indexes.ts";

const sandboxGroup = groupOf(sandboxes.apiVersion);

/**
 * The UID of the Sandbox that controls a Pod. Everybody who may create Pods can write any owner reference or annotation, so
 * they are verified against the API: a Sandbox with that name and UID must exist in the Pod's namespace, and the Pod must
 * have the name that the Sandbox gives its Pod.
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

/** The UID of the Sandbox whose kept root filesystem a Pod may use, or "". */
export async function keptForOf(effects: Effects, pod: Pod): Promise<string> {
  return keptForSandbox(effects, pod, await controllingSandbox(effects.client, pod));
}

/** Like `keptForOf`, for a known controlling Sandbox. A Pod that names another Sandbox gets an event and a new root filesystem. */
export function keptForSandbox(
  { recordEvent }: Pick<Effects, "recordEvent">,
  pod: Pod,
  sandbox: string | undefined,
): string {
  const wanted = wantedFiles(pod);
  if (wanted === "" || wanted === sandbox) return wanted;
  const text = `Annotation ${keepRootfsAnnotation} is ignored: no Sandbox of this namespace with that UID controls the Pod`;
  recordEvent(pod, { type: "Warning", reason: "KeepRootfsIgnored", text });
  return "";
}
