import { holderName } from "./members.ts";
import type { PodRecord } from "./record.ts";

/** The first container of the sandbox that a Pod's containers share: the holder, or the only container of a Pod without one. */
export function firstContainer({
  containers,
  defaultContainer = "",
}: Pick<PodRecord, "containers" | "defaultContainer">): string {
  return containers[holderName] === undefined ? defaultContainer : holderName;
}
