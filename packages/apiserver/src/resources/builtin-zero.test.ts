import { expect, test } from "vitest";
import { definitionNameOf } from "./builtin-kinds.ts";
import { zeroOf } from "./builtin-zero.ts";

test.for([
  ["v1", "ConfigMap", { metadata: {} }],
  ["v1", "Pod", { metadata: {}, spec: { containers: null }, status: {} }],
  ["v1", "Service", { metadata: {}, spec: {}, status: { loadBalancer: {} } }],
  ["rbac.authorization.k8s.io/v1", "RoleBinding", { metadata: {}, roleRef: {} }],
  ["networking.k8s.io/v1", "NetworkPolicy", { metadata: {}, spec: { podSelector: {} } }],
] as const)("%s %s", ([apiVersion, kind, zero]) => {
  expect(zeroOf(definitionNameOf(apiVersion, kind))).toEqual(zero);
});
