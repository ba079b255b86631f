import { nameHash, type Sandbox } from "@agent-sandbox/api";
import type { Observed } from "./observed.ts";

/** The index value shared by Sandboxes whose names have the same hash. */
export function hashKeyOf({ metadata }: Sandbox): string {
  return `${metadata.namespace}/${nameHash(metadata.name ?? "")}`;
}

type Subject = Pick<Observed, "sandbox" | "twins">;

/**
 * Why the Sandbox's Pod must not be created, or undefined. A Service selects its Pod by the hash of the Sandbox's name, and
 * names with the same hash are easy to find: the Service of an older Sandbox would select this Pod.
 */
export function podTwinProblem({ sandbox, twins = [] }: Subject): string | undefined {
  const earlier = twins.find((twin) => hasService(twin) && isEarlier(twin, sandbox));
  return (
    earlier && `Cannot make Pod "${sandbox.metadata.name}": ${sharedWith(earlier, "whose Service would reach it")}`
  );
}

/** Why the Sandbox's Service must not be created: it would select the Pod of another Sandbox. */
export function serviceTwinProblem({ sandbox, twins = [] }: Subject): string | undefined {
  const [twin] = twins;
  return twin && `Cannot make Service "${sandbox.metadata.name}": ${sharedWith(twin, "whose Pod it would reach")}`;
}

function sharedWith({ metadata }: Sandbox, harm: string): string {
  return `its name has the same hash as that of Sandbox "${metadata.name}", ${harm}. Give one of the two another name`;
}

function hasService({ spec, status }: Sandbox): boolean {
  return spec?.service === true || status?.service !== undefined;
}

function isEarlier(twin: Sandbox, { metadata }: Sandbox): boolean {
  const rank = (one: Sandbox["metadata"]): string => `${one.creationTimestamp} ${one.name}`;
  return rank(twin.metadata) < rank(metadata);
}
