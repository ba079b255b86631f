import { expect, test } from "vitest";
import { bootstrapRoles } from "../../packages/apiserver/src/authorization/bootstrap-roles.ts";
import { extensionUserRoles, userRoles } from "../../packages/cli/src/operator/user-roles.ts";

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
}

/** Each permission for our own kinds, as in `get agents.x-k8s.io/sandboxes`. */
function permissions(rules: readonly Rule[]): string[] {
  const all = rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups
      .filter((group) => group.endsWith("agents.x-k8s.io"))
      .flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  return all.sort();
}

test.each(["view", "edit"])("the role %s allows the same in a cluster as in a box", (to) => {
  const box = bootstrapRoles.filter(({ name }) => name === `system:aggregate-to-${to}`).flatMap(({ rules }) => rules);
  const label = `rbac.authorization.k8s.io/aggregate-to-${to}`;
  const roles = [...userRoles(), ...extensionUserRoles()].filter(({ metadata }) => metadata.labels[label] === "true");
  expect(roles).toHaveLength(2);
  expect(permissions(roles.flatMap(({ rules = [] }) => rules))).toEqual(permissions(box));
});
