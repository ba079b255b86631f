import { type NetworkPolicy, sandboxTemplates } from "@agent-sandbox/api";
import { type CacheUpdate, controllerKey } from "@agent-sandbox/kube";

/**
 * Policies that were deleted while a template controlled them, by the template's key, until a pass has dealt with them. Garbage
 * collection deletes a policy with its template, and its rules are then known only here.
 */
export class LostPolicies {
  readonly #byTemplate = new Map<string, NetworkPolicy>();

  follow({ deltas }: CacheUpdate<NetworkPolicy>): void {
    for (const { old, new: policy } of deltas) {
      const owner = old && controllerKey(old, sandboxTemplates);
      if (policy === undefined && old !== undefined && owner !== undefined) this.#byTemplate.set(owner, old);
    }
  }

  get(templateKey: string): NetworkPolicy | undefined {
    return this.#byTemplate.get(templateKey);
  }

  delete(templateKey: string): void {
    this.#byTemplate.delete(templateKey);
  }
}
