import { isControlledBy, type Pod, type Sandbox } from "@agent-sandbox/api";

/** What the controller knows when it looks at one Sandbox: plain data from caches. */
export interface Observed {
  readonly sandbox: Sandbox;
  /** The Pod under the Sandbox's name, whoever owns it. */
  readonly pod: Pod | undefined;
  /** What went wrong when the decided actions were carried out. */
  readonly failure?: string;
}

export const ownsPod = (sandbox: Sandbox, pod: Pod): boolean => isControlledBy(pod, sandbox.metadata.uid);
