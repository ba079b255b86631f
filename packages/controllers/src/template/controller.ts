import {
  type NetworkPolicy,
  type Sandbox,
  type SandboxTemplate,
  sandboxTemplateRefAnnotation,
  sandboxTemplates,
} from "@agent-sandbox/api";
import {
  Controller,
  controllerKey,
  following,
  keyOf,
  type RunnerMetrics,
  reconciler,
  type Trigger,
  watching,
} from "@agent-sandbox/kube";
import type { ControllerContext } from "../controller-context.ts";
import { PassTrace, type Tracing } from "../pass-trace.ts";
import { type Action, decide } from "./decide.ts";
import { defaultRouterPlace, type RouterPlace } from "./desired-policy.ts";
import { LostPolicies } from "./lost-policies.ts";
import { templateNameOf } from "./network-policies.ts";
import { type Caches, type Observed, observe, openCaches } from "./observe.ts";
import { perform } from "./perform.ts";

export interface TemplateControllerOptions extends ControllerContext {
  /** Templates reconciled at the same time. Default 2. */
  readonly workers?: number;
  /** Default: Pods labelled `app: sandbox-router` in `agent-sandbox-system`. */
  readonly router?: RouterPlace;
  /** Only the templates of this namespace. Default: all. */
  readonly namespace?: string;
  readonly metrics?: RunnerMetrics;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing;
}

/** Keeps the NetworkPolicy of each template, also for Sandboxes that outlive their template. */
export function startTemplateController(options: TemplateControllerOptions): Controller {
  const { informers, fence, log, scheduler, metrics, workers = 2, router = defaultRouterPlace } = options;
  const caches = openCaches(informers, options.namespace === undefined ? {} : { namespace: options.namespace });
  const lost = new LostPolicies();
  return Controller.start({
    name: "template",
    client: informers.client,
    fence,
    workers,
    primary: caches.templates,
    triggers: triggersOf(caches, lost),
    ...(log && { log }),
    ...(scheduler && { scheduler }),
    ...(metrics && { metrics }),
    reconcile: reconciler<SandboxTemplate, Observed, Action, never, undefined>({
      primary: caches.templates,
      initialMemory: () => undefined,
      observe: (key, { client }) => observe(key, caches, { client, lost, router }),
      decide,
      perform: async (action, observed, { client }) => {
        await perform(client, action);
        return observed;
      },
      finish: (key, { observed, succeeded }) => {
        const isSettled = observed?.template !== undefined || (succeeded && observed?.isCacheBehind === false);
        if (isSettled) lost.delete(key);
      },
      trace: (observed) => ({ observed, span: spanOf(observed, options.tracing) }),
      ...(scheduler && { scheduler }),
    }),
  });
}

function spanOf({ template }: Observed, tracing: Tracing | undefined): PassTrace | undefined {
  if (template === undefined) return undefined;
  const subject = { object: template, name: "ReconcileSandboxTemplate", attributes: {} };
  return PassTrace.begin(tracing, subject, () => undefined);
}

function triggersOf(caches: Caches, lost: LostPolicies): Trigger[] {
  const { templates, policies, sandboxes } = caches;
  return [
    following(policies, (update) => lost.follow(update)),
    watching(policies, policyKeysOf),
    // The policy that was kept for Sandboxes without a template is deleted with the last of them.
    watching(sandboxes, templateKeysOf, {
      when: ({ new: sandbox, old }) =>
        sandbox === undefined &&
        old !== undefined &&
        templateKeysOf(old).every((key) => templates.get(key) === undefined),
    }),
  ];
}

function templateKeysOf({ metadata }: Sandbox): string[] {
  const name = metadata.annotations?.[sandboxTemplateRefAnnotation];
  return name === undefined ? [] : [keyOf({ namespace: metadata.namespace ?? "", name })];
}

/** By owner and by name: a template must also be reconciled when another policy with its policy's name comes or goes. */
function policyKeysOf(policy: NetworkPolicy): string[] {
  const { namespace = "", name = "" } = policy.metadata ?? {};
  const owner = controllerKey(policy, sandboxTemplates);
  const byName = templateNameOf(name);
  const named = byName === undefined ? undefined : keyOf({ namespace, name: byName });
  return [...new Set([owner, named].filter((key) => key !== undefined))];
}
