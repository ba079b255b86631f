import type { Delta, KubeObject } from "@agent-sandbox/kube";

/** Whether the object was created, deleted or its spec changed. Writes of status, labels and annotations do not count. */
export function changesSpec({ old, new: now }: Delta<KubeObject>): boolean {
  return old?.metadata?.generation !== now?.metadata?.generation || old?.metadata?.uid !== now?.metadata?.uid;
}
