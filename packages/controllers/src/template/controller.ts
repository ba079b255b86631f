import { sandboxTemplates } from "@agent-sandbox/api";
import { Controller, keyOf, parseKey, type RunnerMetrics, watching } from "@agent-sandbox/kube";
import type { ControllerContext } from "../controller-context.ts";
import { reconcileTemplate } from "./apply.ts";
import { defaultRouterPlace, type RouterPlace } from "./desired-policy.ts";
import { networkPolicies, policyNameOf, templateNameOf } from "./network-policies.ts";

export interface TemplateControllerOptions extends ControllerContext {
  /** Templates worked on at the same time. Default 2. */
  readonly workers?: number;
  /** Default: Pods labelled `app: sandbox-router` in `agent-sandbox-system`. */
  readonly router?: RouterPlace;
  readonly metrics?: RunnerMetrics;
}

/** Keeps the NetworkPolicy of each template as the template says. */
export function startTemplateController(options: TemplateControllerOptions): Controller {
  const { informers, fence, log, scheduler, metrics, workers = 2, router = defaultRouterPlace } = options;
  const templates = informers.get(sandboxTemplates);
  const policies = informers.get(networkPolicies);
  return Controller.start({
    name: "template",
    client: informers.client,
    fence,
    workers,
    primary: templates,
    // By name and not by owner: a stranger's policy in the way matters, and so does its going.
    triggers: [
      watching(policies, ({ metadata }) => {
        const template = templateNameOf(metadata?.name ?? "");
        return template === undefined ? [] : [keyOf({ namespace: metadata?.namespace ?? "", name: template })];
      }),
    ],
    ...(log && { log }),
    ...(scheduler && { scheduler }),
    ...(metrics && { metrics }),
    reconcile: async (key, { client }) => {
      const template = templates.get(key);
      if (template === undefined) return;
      const { name, namespace = "" } = parseKey(key);
      const policy = policies.get(keyOf({ namespace, name: policyNameOf(name) }));
      await reconcileTemplate(client, { template, policy, router });
    },
  });
}
