import { type ExplainedRule, labelsOf, type OperatorObject } from "./manifest.ts";
import { managerName } from "./settings.ts";
import { editRules, extensionEditRules, extensionViewRules, viewRules } from "./user-rules.ts";

/** Lets users of the roles `view`, `edit` and `admin` use Sandboxes and snapshots. */
export function userRoles(): OperatorObject[] {
  return [
    aggregatedRole("agent-sandbox-view", "view", viewRules),
    aggregatedRole("agent-sandbox-edit", "edit", editRules),
  ];
}

/** Lets them use templates, pools and claims. */
export function extensionUserRoles(): OperatorObject[] {
  return [
    aggregatedRole("agent-sandbox-extensions-view", "view", extensionViewRules),
    aggregatedRole("agent-sandbox-extensions-edit", "edit", extensionEditRules),
  ];
}

/**
 * A ClusterRole that Kubernetes adds to the default role `to`. The bootstrap policy of Kubernetes adds `view` to `edit`, and `edit`
 * to `admin`, so one label is enough.
 */
function aggregatedRole(name: string, to: "view" | "edit", rules: readonly ExplainedRule[]): OperatorObject {
  const labels = { ...labelsOf(managerName), [`rbac.authorization.k8s.io/aggregate-to-${to}`]: "true" };
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name, labels }, rules };
}
