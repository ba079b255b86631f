import { sandboxTemplateRefHashLabel, sandboxTemplates } from "@agent-sandbox/api";
import { type Client, TerminalError } from "@agent-sandbox/kube";
import { goneIsFine, guardOf, placeOf } from "../guard.ts";
import type { Action, Decision } from "./decide.ts";
import { networkPolicies } from "./network-policies.ts";

/** Carries out what is decided about one template. A template has no status: what a person must mend is thrown. */
export async function applyDecision(client: Client, { actions, obstacle }: Decision): Promise<void> {
  for (const action of actions) await perform(client, action);
  if (obstacle !== undefined) throw new TerminalError(obstacle);
}

async function perform(client: Client, action: Action): Promise<void> {
  switch (action.do) {
    case "label-template": {
      const body = { metadata: { labels: { [sandboxTemplateRefHashLabel]: action.hash } } };
      const patch = { type: "merge", body, preconditions: guardOf(action.template) } as const;
      await client.patch(sandboxTemplates, placeOf(action.template), patch);
      return;
    }
    case "create-policy":
      await client.create(networkPolicies, action.policy);
      return;
    case "change-policy": {
      const patch = { type: "merge", body: action.change, preconditions: guardOf(action.policy) } as const;
      await client.patch(networkPolicies, placeOf(action.policy), patch);
      return;
    }
    case "delete-policy":
      await client
        .delete(networkPolicies, placeOf(action.policy), { preconditions: guardOf(action.policy) })
        .catch(goneIsFine);
      return;
    default:
      return action satisfies never;
  }
}
