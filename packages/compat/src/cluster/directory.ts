import { findCondition, type Sandbox, type SandboxClaim, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import type { Informer, Informers } from "@agent-sandbox/kube";
import { assemble, isEnding, type Machine, owningClaim } from "./machine.ts";
import { until } from "./until.ts";

/** The claims and Sandboxes of all namespaces, from caches. It shows what exists, not what a caller may see. */
export class Directory {
  readonly claims: Informer<SandboxClaim>;
  readonly sandboxes: Informer<Sandbox>;

  constructor(informers: Informers) {
    this.claims = informers.get(sandboxClaims);
    this.sandboxes = informers.get(sandboxes);
  }

  get synced(): Promise<unknown> {
    return Promise.all([this.claims.synced, this.sandboxes.synced]);
  }

  /** Undefined if there is none or it is being deleted. */
  machine(namespace: string, name: string): Machine | undefined {
    const claim = this.claims.get(`${namespace}/${name}`);
    const bound = claim === undefined ? name : claim.status?.sandbox?.name;
    const sandbox = bound === undefined ? undefined : this.sandboxes.get(`${namespace}/${bound}`);
    if (claim === undefined && (sandbox === undefined || this.#hasLostClaim(sandbox))) return undefined;
    if (isEnding(claim) || isEnding(sandbox)) return undefined;
    return assemble({ namespace, name, claim, sandbox });
  }

  /** Waits until a machine that was deleted is seen as such here. */
  untilGone({ namespace, name, claim, sandbox }: Machine, signal: AbortSignal): Promise<true> {
    const uid = (claim ?? sandbox)?.metadata.uid;
    const check = (): true | undefined => {
      const current = this.machine(namespace, name);
      return (current?.claim ?? current?.sandbox)?.metadata.uid === uid ? undefined : true;
    };
    return until([this.claims, this.sandboxes], check, signal);
  }

  /** A Sandbox is deleted a moment after its claim. */
  #hasLostClaim(sandbox: Sandbox): boolean {
    const owner = owningClaim(sandbox);
    if (owner === undefined) return false;
    const claim = this.claims.get(`${sandbox.metadata.namespace}/${owner.name}`);
    return claim?.metadata.uid !== owner.uid || isEnding(claim);
  }

  /** Waits until the claim has a Sandbox that is ready. */
  untilBound(claim: SandboxClaim, signal: AbortSignal): Promise<Sandbox> {
    const { namespace = "", name = "", uid } = claim.metadata;
    const check = (): Sandbox | undefined => {
      const { claim: current, sandbox } = this.machine(namespace, name) ?? {};
      if (current?.metadata.uid !== uid || sandbox === undefined) return undefined;
      const isReady = findCondition(current?.status?.conditions, "Ready")?.status === "True";
      return isReady ? sandbox : undefined;
    };
    return until([this.claims, this.sandboxes], check, signal);
  }

  /** Waits until a condition of the Sandbox that describes its present spec is true. */
  untilTrue(sandbox: Sandbox, type: "Ready" | "Suspended", signal: AbortSignal): Promise<Sandbox> {
    const { namespace = "", name = "", uid, generation = 0 } = sandbox.metadata;
    const check = (): Sandbox | undefined => {
      const current = this.sandboxes.get(`${namespace}/${name}`);
      const condition = findCondition(current?.status?.conditions, type);
      const isCurrent = (condition?.observedGeneration ?? 0) >= generation;
      return current?.metadata.uid === uid && condition?.status === "True" && isCurrent ? current : undefined;
    };
    return until([this.sandboxes], check, signal);
  }
}
