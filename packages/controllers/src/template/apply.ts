import { type NetworkPolicy, sandboxTemplateRefHashLabel, sandboxTemplates } from "@agent-sandbox/api";
import { type Client, TerminalError } from "@agent-sandbox/kube";
import { goneIsFine, guardOf, placeOf } from "../guard.ts";
import { type Action, decide, type Observed } from "./decide.ts";
import { networkPolicies } from "./network-policies.ts";

/** Carries out what is decided about one template. A template has no status: what a person must mend is thrown. */
export async function reconcileTemplate(client: Client, seen: Observed): Promise<void> {
  const { actions, obstacle } = decide(seen);
  for (const action of actions) await perform(client, seen, action);
  if (obstacle !== undefined) throw new TerminalError(obstacle);
}

async function perform(client: Client, seen: Observed, action: Action): Promise<void> {
  switch (action.do) {
    case "label-template": {
      const body = { metadata: { labels: { [sandboxTemplateRefHashLabel]: action.hash } } };
      const patch = { type: "merge", body, preconditions: guardOf(seen.template) } as const;
      await client.patch(sandboxTemplates, placeOf(seen.template), patch);
      return;
    }
    case "create-policy":
      await client.create(networkPolicies, action.policy);
      return;
    case "update-policy": {
      const policy = known(seen);
      const patch = { type: "merge", body: { spec: action.spec }, preconditions: guardOf(policy) } as const;
      await client.patch(networkPolicies, placeOf(policy), patch);
      return;
    }
    case "delete-policy":
      await client
        .delete(networkPolicies, placeOf(known(seen)), { preconditions: guardOf(known(seen)) })
        .catch(goneIsFine);
      return;
    default:
      return action satisfies never;
  }
}

function known({ policy, template }: Observed): NetworkPolicy {
  if (policy === undefined) throw new Error(`Cannot change the policy of "${template.metadata.name}": there is none`);
  return policy;
}
