import {
  controllerOf,
  nameHash,
  type Sandbox,
  sandboxTemplateHashLabel,
  sandboxTemplateRefHashLabel,
} from "@agent-sandbox/api";
import { type Blueprint, matchesBlueprint } from "../template/blueprint.ts";

/** The label that a member made from this blueprint has. */
export function templateRefHashOf({ template }: Blueprint): string {
  return nameHash(template.metadata.name ?? "");
}

/**
 * Whether a Sandbox is not what the pool's template makes today. A member's hash is trusted, for the pool wrote it; that of
 * a Sandbox without controller is not, for anybody could have.
 */
export function isStale(sandbox: Sandbox, blueprint: Blueprint): boolean {
  const labels = sandbox.metadata.labels ?? {};
  if (labels[sandboxTemplateRefHashLabel] !== templateRefHashOf(blueprint)) return true;
  const isMember = controllerOf(sandbox) !== undefined;
  if (isMember && labels[sandboxTemplateHashLabel] === blueprint.hash) return false;
  return !matches(sandbox, blueprint);
}

/** Comparing is dear, and neither side changes: each version of an object is an object of its own. */
const compared = new WeakMap<Sandbox, { readonly blueprint: Blueprint; readonly equal: boolean }>();

function matches(sandbox: Sandbox, blueprint: Blueprint): boolean {
  const before = compared.get(sandbox);
  if (before?.blueprint === blueprint) return before.equal;
  const equal = matchesBlueprint(sandbox, blueprint);
  compared.set(sandbox, { blueprint, equal });
  return equal;
}
