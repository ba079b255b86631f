import type { KubeObject } from "@agent-sandbox/kube/requests";
import { version } from "../version.ts";

/** A rule of a role with the reason for it. The files in `deploy` contain the reason as a comment. */
export interface ExplainedRule {
  readonly why: string;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** An object of the installation. Its `rules` may contain reasons, which `forServer` removes. */
export interface OperatorObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly ExplainedRule[];
}

/** Every object of the installation has this label, and `uninstall` finds them by it. */
export const partOf = { "app.kubernetes.io/part-of": "agent-sandbox" } as const;

/** The labels of an object that belongs to `app`. */
export function labelsOf(app: string): Record<string, string> {
  return { app, "app.kubernetes.io/name": app, "app.kubernetes.io/version": version, ...partOf };
}

/** The object as the API server knows it, without the reasons of rules. */
export function forServer(object: OperatorObject): KubeObject {
  if (object.rules === undefined) return object;
  const rules = object.rules.map(({ apiGroups, resources, resourceNames, verbs }) => ({
    apiGroups,
    resources,
    ...(resourceNames && { resourceNames }),
    verbs,
  }));
  return { ...object, rules } as KubeObject;
}

/** A role or cluster role, and the binding to the account of the same installation. */
export function roleFor(
  account: { readonly name: string; readonly namespace: string },
  role: {
    readonly name: string;
    readonly app: string;
    /** Without it the role holds for the whole cluster. `""` leaves the namespace to `kubectl apply -n`. */
    readonly namespace?: string;
    readonly rules: readonly ExplainedRule[];
  },
): OperatorObject[] {
  const kind = role.namespace === undefined ? "ClusterRole" : "Role";
  const metadata = {
    name: role.name,
    ...(role.namespace && { namespace: role.namespace }),
    labels: labelsOf(role.app),
  };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  return [
    { apiVersion, kind, metadata, rules: role.rules },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role.name },
      subjects: [{ kind: "ServiceAccount", name: account.name, namespace: account.namespace }],
    } as OperatorObject,
  ];
}
