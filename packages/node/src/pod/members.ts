import type { Container, Pod } from "@agent-sandbox/api";

/**
 * What a container is to its Pod. `init` runs to its end before the next begins; a `sidecar` is an init container that
 * stays; `main` is what the Pod is for; `ephemeral` is added to a running Pod by a person who looks into it.
 */
export type Role = "init" | "sidecar" | "main" | "ephemeral";

export interface Member {
  readonly role: Role;
  readonly container: Container;
}

/** Keeps the namespaces that several containers share. No container of a Pod can have this name. */
export const holderName = "-holder";

/** In the order in which they start. */
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

/** Only containers that live at the same time have something to share: init containers do not count. */
export function needsHolder(pod: Pod): boolean {
  const together = membersOf(pod).filter(({ role }) => role === "main" || role === "sidecar");
  return together.length > 1 || pod.spec?.shareProcessNamespace === true;
}

/** As `kubectl describe` and events name a container's place in the Pod. */
export function fieldPathOf({ role, container }: Member): string {
  const list = {
    init: "initContainers",
    sidecar: "initContainers",
    main: "containers",
    ephemeral: "ephemeralContainers",
  };
  return `spec.${list[role]}{${container.name}}`;
}
