import { sandboxTemplateRefHashLabel, sandboxTemplates } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";
import type { Action } from "./decide.ts";
import { networkPolicies } from "./network-policies.ts";

export async function perform(client: Client, action: Action): Promise<void> {
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
        .catch(ignoreNotFound);
      return;
    default:
      return action satisfies never;
  }
}
