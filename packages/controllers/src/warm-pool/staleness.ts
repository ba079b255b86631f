import {
  controllerOf,
  nameHash,
  type Sandbox,
  sandboxTemplateHashLabel,
  sandboxTemplateRefHashLabel,
} from "@agent-sandbox/api";
import { type Blueprint, matchesBlueprint } from "../template/blueprint.ts";

/** The value of the template label on members created from this blueprint. */
export function templateRefHashOf({ template }: Blueprint): string {
  return nameHash(template.metadata.name ?? "");
}

/**
 * Whether a Sandbox differs from what the pool's template creates today. `snapshotUid` is the snapshot that it is made from: one
 * that was deleted and taken again under the same name is another one. The hash label is trusted on members, where the
 * pool wrote it, and not on a Sandbox without controller, where anybody could have.
 */
export function isStale(sandbox: Sandbox, blueprint: Blueprint, snapshotUid?: string): boolean {
  const labels = sandbox.metadata.labels ?? {};
  if (labels[sandboxTemplateRefHashLabel] !== templateRefHashOf(blueprint)) return true;
  if (isOfOtherSnapshot(sandbox, snapshotUid)) return true;
  const isMember = controllerOf(sandbox) !== undefined;
  if (isMember && labels[sandboxTemplateHashLabel] === blueprint.hash) return false;
  return !matches(sandbox, blueprint);
}

/** A member that has not been restored yet will be restored from the snapshot of that time. */
function isOfOtherSnapshot({ status }: Sandbox, uid: string | undefined): boolean {
  const used = status?.suspension?.restoredFrom?.uid;
  return uid !== undefined && used !== undefined && used !== uid;
}

/** Comparisons are expensive, and neither side ever changes: every version of an object is a new JavaScript object. */
const compared = new WeakMap<Sandbox, { readonly blueprint: Blueprint; readonly equal: boolean }>();

function matches(sandbox: Sandbox, blueprint: Blueprint): boolean {
  const before = compared.get(sandbox);
  if (before?.blueprint === blueprint) return before.equal;
  const equal = matchesBlueprint(sandbox, blueprint);
  compared.set(sandbox, { blueprint, equal });
  return equal;
}
