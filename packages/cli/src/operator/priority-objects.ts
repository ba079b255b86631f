import { type OperatorObject, partOf } from "./manifest.ts";
import { type OperatorSettings, priorityClass } from "./settings.ts";

const admission = "admissionregistration.k8s.io/v1";

/**
 * The priority of manager and router, and the policy that keeps it for them: without it every user who may create Pods anywhere could
 * evict the Pods of others by naming the class.
 */
export function priorityObjects({ namespace }: Pick<OperatorSettings, "namespace">): OperatorObject[] {
  const metadata = { name: priorityClass, labels: { ...partOf } };
  const elsewhere = { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [namespace] };
  const pods = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"], scope: "*" };
  return [
    {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata,
      value: 1_000_000_000,
      description: "Manager and router of Agent Sandbox: sandboxes can be neither started nor reached without them.",
    } as OperatorObject,
    {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy: "Fail",
        // With all defaults: server-side apply treats this field as one value, so each missing default would be a conflict.
        matchConstraints: {
          matchPolicy: "Equivalent",
          namespaceSelector: { matchExpressions: [elsewhere] },
          objectSelector: {},
          resourceRules: [pods],
        },
        validations: [
          {
            expression: `!has(object.spec.priorityClassName) || object.spec.priorityClassName != "${priorityClass}"`,
            message: `the PriorityClass "${priorityClass}" is only for the namespace "${namespace}"`,
            reason: "Forbidden",
          },
        ],
      },
    } as OperatorObject,
    {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: priorityClass, validationActions: ["Deny"] },
    } as OperatorObject,
  ];
}
