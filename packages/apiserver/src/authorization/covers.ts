import { hasOrAll, type PolicyRule, urlCovers } from "./policy-rule.ts";

/** A rule with exactly one value in each field. */
export type SingleRule =
  | {
      readonly group: string;
      readonly resource: string;
      readonly resourceName: string | undefined;
      readonly verb: string;
    }
  | { readonly url: string; readonly verb: string };

export type Uncovered = { readonly missing: readonly SingleRule[] } | { readonly problem: string };

/**
 * A rule expands to the product of its fields: a body of 1 MiB can contain billions of combinations. The largest of Kubernetes'
 * own roles has about a thousand.
 */
const maxSingleRules = 20_000;

/** The parts of the `wanted` rules that the `held` rules do not cover. */
export function findUncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Uncovered {
  const missing: SingleRule[] = [];
  let seen = 0;
  for (const rule of wanted) {
    for (const single of takeApart(rule)) {
      seen += 1;
      if (seen > maxSingleRules) return { problem: `the rules come to more than ${maxSingleRules} single permissions` };
      if (!held.some((each) => covers(each, single))) missing.push(single);
    }
  }
  return { missing };
}

function* takeApart(rule: PolicyRule): Generator<SingleRule> {
  const names = rule.resourceNames ?? [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs) {
        for (const resourceName of names.length === 0 ? [undefined] : names) {
          yield { group, resource, resourceName, verb };
        }
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs) yield { url, verb };
  }
}

function covers(rule: PolicyRule, single: SingleRule): boolean {
  if (!hasOrAll(rule.verbs, single.verb)) return false;
  if ("url" in single) return (rule.nonResourceURLs ?? []).some((pattern) => urlCovers(pattern, single.url));
  const { group, resource, resourceName } = single;
  const names = rule.resourceNames ?? [];
  return (
    hasOrAll(rule.apiGroups ?? [], group) &&
    resourceCovered(rule.resources ?? [], resource) &&
    (names.length === 0 || (resourceName !== undefined && names.includes(resourceName)))
  );
}

function resourceCovered(resources: readonly string[], wanted: string): boolean {
  if (hasOrAll(resources, wanted)) return true;
  const slash = wanted.indexOf("/");
  return slash >= 0 && resources.includes(`*${wanted.slice(slash)}`);
}
