import { blueprintChoices, type SandboxSpec, type SuspendDepth } from "@agent-sandbox/api";
import type { Settings } from "./settings.ts";

const order: readonly SuspendDepth[] = ["Volumes", "Filesystem", "Memory"];

/** Why a wanted depth was not reached. The reason is a `StateReason`. */
export interface Shortfall {
  readonly reason: string;
  readonly message: string;
}

/** What every suspension keeps in this installation, without a state driver. */
export function baseDepth({ keepRootFilesystem }: Settings): SuspendDepth {
  return keepRootFilesystem ? "Filesystem" : "Volumes";
}

/** What a suspension keeps if nothing is saved. A policy may want less than the installation can keep. */
export function depthWithoutSave({ suspendPolicy }: SandboxSpec, settings: Settings): SuspendDepth {
  return suspendPolicy?.depth === "Volumes" ? "Volumes" : baseDepth(settings);
}

export function wantsMemory({ suspendPolicy }: SandboxSpec): boolean {
  return suspendPolicy?.depth === "Memory";
}

/** Whether the policy accepts a lower depth than it wants, when a Pod cannot be saved or restored. */
export function mayUseLess(spec: SandboxSpec): boolean {
  return blueprintChoices(spec).suspendFallback === "Allow";
}

/** The lower of two depths; the second if there is no first. */
export function lowerDepth(first: SuspendDepth | undefined, second: SuspendDepth): SuspendDepth {
  return first !== undefined && order.indexOf(first) < order.indexOf(second) ? first : second;
}
