import {
  type NetworkPolicy,
  nameHash,
  type Sandbox,
  sandboxes,
  sandboxTemplateRefAnnotation,
  sandboxTemplateRefHashLabel,
  sandboxTemplates,
} from "@agent-sandbox/api";
import {
  Controller,
  controllerKey,
  type Informer,
  keyOf,
  parseKey,
  type RunnerMetrics,
  type Trigger,
  watching,
} from "@agent-sandbox/kube";
import type { ControllerContext } from "../controller-context.ts";
import { goneIsFine } from "../guard.ts";
import { PassTrace, type Tracing } from "../pass-trace.ts";
import { applyDecision } from "./apply.ts";
import { decide, decideWithoutTemplate } from "./decide.ts";
import { defaultRouterPlace, type RouterPlace } from "./desired-policy.ts";
import { networkPolicies, policyNameOf, templateNameOf } from "./network-policies.ts";

export interface TemplateControllerOptions extends ControllerContext {
  /** Templates worked on at the same time. Default 2. */
  readonly workers?: number;
  /** Default: Pods labelled `app: sandbox-router` in `agent-sandbox-system`. */
  readonly router?: RouterPlace;
  /** Only the templates of this namespace. Default: all. */
  readonly namespace?: string;
  readonly metrics?: RunnerMetrics;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing;
}

/** Keeps the NetworkPolicy of each template as the template says, and as it was for Sandboxes that outlive theirs. */
export function startTemplateController(options: TemplateControllerOptions): Controller {
  const { informers, fence, log, scheduler, metrics, workers = 2, router = defaultRouterPlace } = options;
  const scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const templates = informers.get(sandboxTemplates, scope);
  const policies = informers.get(networkPolicies, scope);
  const sandboxCache = informers.get(sandboxes, scope);
  const byTemplate = sandboxCache.index("template-ref-hash", templateRefsOf);
  /** Policies that were seen to go with their template, until a pass has looked at what is left of it. */
  const lost = new Map<string, NetworkPolicy>();
  return Controller.start({
    name: "template",
    client: informers.client,
    fence,
    workers,
    primary: templates,
    triggers: [
      remembering(policies, lost),
      watching(policies, policyKeysOf),
      // The last Sandbox without template takes the policy along that was kept for it.
      watching(sandboxCache, templateKeysOf, {
        when: ({ new: sandbox, old }) =>
          sandbox === undefined &&
          old !== undefined &&
          templateKeysOf(old).every((key) => templates.get(key) === undefined),
      }),
    ],
    ...(log && { log }),
    ...(scheduler && { scheduler }),
    ...(metrics && { metrics }),
    reconcile: async (key, { client }) => {
      const { name, namespace = "" } = parseKey(key);
      const cached = templates.get(key);
      // A policy that goes may go with its template: made again for one that is gone, it would go again, without end.
      const isDoubtful = cached !== undefined && lost.has(key);
      const template = isDoubtful ? await client.get(sandboxTemplates, { namespace, name }).catch(goneIsFine) : cached;
      const policy = policies.get(keyOf({ namespace, name: policyNameOf(name) }));
      if (template) {
        lost.delete(key);
        const trace = PassTrace.begin(options.tracing, { object: template, ...span }, () => undefined);
        const told = (error: unknown): never => {
          trace?.end(error);
          throw error;
        };
        return applyDecision(client, decide({ template, policy, router })).then(() => trace?.end(), told);
      }
      const left = byTemplate.count(`${namespace} ${nameHash(name)}`);
      await applyDecision(
        client,
        decideWithoutTemplate({ templateName: name, policy, lost: lost.get(key), sandboxes: left }),
      );
      // Until the cache knows that the template is gone, too, it is doubtful.
      if (cached === undefined) lost.delete(key);
    },
  });
}

const span = { name: "ReconcileSandboxTemplate", attributes: {} };

function templateRefsOf({ metadata }: Sandbox): string[] {
  const hash = metadata.labels?.[sandboxTemplateRefHashLabel];
  return hash === undefined ? [] : [`${metadata.namespace} ${hash}`];
}

function templateKeysOf({ metadata }: Sandbox): string[] {
  const name = metadata.annotations?.[sandboxTemplateRefAnnotation];
  return name === undefined ? [] : [keyOf({ namespace: metadata.namespace ?? "", name })];
}

/** By name as well as by owner: a stranger's policy in the way matters, and so does its going. */
function policyKeysOf(policy: NetworkPolicy): string[] {
  const { namespace = "", name = "" } = policy.metadata ?? {};
  const owner = controllerKey(policy, sandboxTemplates);
  const byName = templateNameOf(name);
  const named = byName === undefined ? undefined : keyOf({ namespace, name: byName });
  return [...new Set([owner, named].filter((key) => key !== undefined))];
}

/** Garbage collection removes a policy with its template; what it said is then known only here. */
function remembering(policies: Informer<NetworkPolicy>, lost: Map<string, NetworkPolicy>): Trigger {
  return {
    synced: policies.synced,
    connect: () =>
      policies.subscribe(({ deltas }) => {
        for (const { old, new: policy } of deltas) {
          const owner = old && controllerKey(old, sandboxTemplates);
          if (policy === undefined && old !== undefined && owner !== undefined) lost.set(owner, old);
        }
      }),
  };
}
