import type { Sandbox } from "@agent-sandbox/api";
import { deadlineOf } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { metadataOf } from "../../cluster/metadata.ts";
import { statusOf } from "./state.ts";

/** A sandbox as lists, details and the answer to a create show it. */
export function sandboxJson(machine: Machine): Readonly<Record<string, unknown>> {
  const { claim, sandbox, name } = machine;
  const owner = claim ?? sandbox;
  const container = mainContainer(sandbox);
  const expiresAt = deadlineOf(machine);
  const snapshot = owner?.spec.restoreFrom?.snapshotRef.name;
  return {
    id: name,
    status: statusOf(machine),
    createdAt: owner?.metadata.creationTimestamp ?? "",
    entrypoint: (container?.command ?? []).map(unescaped),
    metadata: owner === undefined ? {} : metadataOf(owner),
    ...(container?.image !== undefined && { image: { uri: container.image } }),
    ...(snapshot !== undefined && { snapshotId: snapshot }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

type Container = Sandbox["spec"]["podTemplate"]["spec"]["containers"][number];

export function mainContainer(sandbox: Sandbox | undefined): Container | undefined {
  return sandbox?.spec.podTemplate.spec.containers[0];
}

/** Kubernetes replaces `$(NAME)` in commands and variables. A text is not to be changed. */
export const escaped = (text: string): string => text.replaceAll("$", "$$$$");
export const unescaped = (text: string): string => text.replaceAll("$$", "$");
