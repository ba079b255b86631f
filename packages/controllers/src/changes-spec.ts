import type { Delta, KubeObject } from "@agent-sandbox/kube";

/** Whether somebody made, deleted or edited the object, and did not only write its status, labels or annotations. */
export function changesSpec({ old, new: now }: Delta<KubeObject>): boolean {
  return old?.metadata?.generation !== now?.metadata?.generation || old?.metadata?.uid !== now?.metadata?.uid;
}
