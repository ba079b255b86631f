import type { Container, Pod } from "@agent-sandbox/api";

/**
 * The list of the Pod that a container is in. `init` runs to completion before the next starts; `sidecar` is an init container
 * with `restartPolicy: Always`; `main` is one of `spec.containers`; `ephemeral` was added with `kubectl debug`.
 */
export type Role = "init" | "sidecar" | "main" | "ephemeral";

export interface Member {
  readonly role: Role;
  readonly container: Container;
}

/** The container whose namespaces the others share. Names of a Pod's containers are DNS labels, so none begins with "-". */
export const holderName = "-holder";

/** All containers in the order in which they start. */
export function membersOf(pod: Pod): readonly Member[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [
    ...initContainers.map(
      (container): Member => ({
        role: container.restartPolicy === "Always" ? "sidecar" : "init",
        container,
      }),
    ),
    ...containers.map((container): Member => ({ role: "main", container })),
    ...ephemeralContainers.map((container): Member => ({ role: "ephemeral", container })),
  ];
}

export function memberNamed(pod: Pod, name: string): Member | undefined {
  return membersOf(pod).find(({ container }) => container.name === name);
}

/** Whether the Pod needs a holder. Init containers do not count: they run one at a time. */
export function needsHolder(pod: Pod): boolean {
  const together = membersOf(pod).filter(({ role }) => role === "main" || role === "sidecar");
  return together.length > 1 || pod.spec?.shareProcessNamespace === true;
}

/** The container's `fieldPath` in events. */
export function fieldPathOf({ role, container }: Member): string {
  const list = {
    init: "initContainers",
    sidecar: "initContainers",
    main: "containers",
    ephemeral: "ephemeralContainers",
  };
  return `spec.${list[role]}{${container.name}}`;
}
