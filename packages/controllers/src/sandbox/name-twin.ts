import { nameHash, type Sandbox } from "@agent-sandbox/api";
import type { Observed } from "./observed.ts";

/** Where Sandboxes are whose names come to the same hash. */
export function hashKeyOf({ metadata }: Sandbox): string {
  return `${metadata.namespace}/${nameHash(metadata.name ?? "")}`;
}

type Seen = Pick<Observed, "sandbox" | "twins">;

/**
 * A Service finds its Pod by the hash of the Sandbox's name, and names of the same hash are easily made. A Pod that an earlier
 * Sandbox's Service would reach is not made; for people, or undefined when there is none such.
 */
export function podTwinProblem({ sandbox, twins = [] }: Seen): string | undefined {
  const earlier = twins.find((twin) => hasService(twin) && isEarlier(twin, sandbox));
  return (
    earlier && `Cannot make Pod "${sandbox.metadata.name}": ${sharedWith(earlier, "whose Service would reach it")}`
  );
}

/** The same for a Service that would reach another's Pod. */
export function serviceTwinProblem({ sandbox, twins = [] }: Seen): string | undefined {
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
