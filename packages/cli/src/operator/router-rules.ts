import type { ExplainedRule } from "./manifest.ts";

/** What the router may do in the whole cluster. */
export const routerRules: readonly ExplainedRule[] = [
  {
    why: "Where a sandbox runs. A Pod is read again for each new connection, because another Pod may have its address by then.",
    apiGroups: [""],
    resources: ["pods"],
    verbs: ["get", "list", "watch"],
  },
  {
    why: "Which sandboxes exist. A patch wakes one, records its activity or revokes its tokens.",
    apiGroups: ["agents.x-k8s.io"],
    resources: ["sandboxes"],
    verbs: ["list", "watch", "patch"],
  },
  {
    why: "Which sandbox a claim holds.",
    apiGroups: ["extensions.agents.x-k8s.io"],
    resources: ["sandboxclaims"],
    verbs: ["list", "watch"],
  },
  {
    why: "Who sent a request.",
    apiGroups: ["authentication.k8s.io"],
    resources: ["tokenreviews"],
    verbs: ["create"],
  },
  {
    why: "Whether the sender may connect to the sandbox.",
    apiGroups: ["authorization.k8s.io"],
    resources: ["subjectaccessreviews"],
    verbs: ["create"],
  },
];

/** Needed for Sandboxes with `runtime: Injected` only. */
export const routerRuntimeRules: readonly ExplainedRule[] = [
  {
    why: "The token of each sandbox, in the Secret <sandbox>-runtime. RBAC cannot limit this to such names.",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: ["get"],
  },
];
