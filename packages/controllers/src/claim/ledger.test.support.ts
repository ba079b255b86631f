import { controllerOf, isConditionTrue, type Sandbox, type SandboxClaim } from "@agent-sandbox/api";
import type { KubeObject } from "@agent-sandbox/kube";

interface Change {
  readonly resource: { readonly plural: string };
  readonly object: KubeObject;
  readonly gone: boolean;
}

/** Follows every change and records violated invariants. */
export class Ledger {
  /** How often each claim became Ready, and with which Sandbox last. */
  readonly readyTimes: Map<string, number> = new Map();
  readonly boundTo: Map<string, string> = new Map();
  /** The most Sandboxes that pools had at any moment. */
  mostMembers = 0;
  /** Violated invariants. */
  readonly broken: string[] = [];
  readonly #ready = new Set<string>();
  readonly #members = new Set<string>();
  readonly #claimOf = new Map<string, string>();

  read({ resource, object, gone }: Change): void {
    if (resource.plural === "sandboxclaims") this.#readClaim(object as SandboxClaim, gone);
    if (resource.plural === "sandboxes") this.#readSandbox(object as Sandbox, gone);
  }

  #readClaim({ metadata, status }: SandboxClaim, gone: boolean): void {
    const name = metadata.name ?? "";
    const isReady = !gone && isConditionTrue(status?.conditions, "Ready");
    const sandbox = status?.sandbox?.name ?? "";
    if (isReady && !this.#ready.has(name)) {
      this.readyTimes.set(name, (this.readyTimes.get(name) ?? 0) + 1);
      this.boundTo.set(name, sandbox);
    } else if (isReady && this.boundTo.get(name) !== sandbox) this.broken.push(`${name} moved while Ready`);
    if (isReady) this.#ready.add(name);
    else this.#ready.delete(name);
  }

  #readSandbox(sandbox: Sandbox, gone: boolean): void {
    const { name = "", uid = "" } = sandbox.metadata;
    const owner = controllerOf(sandbox);
    if (!gone && owner?.kind === "SandboxWarmPool") this.#members.add(uid);
    else this.#members.delete(uid);
    this.mostMembers = Math.max(this.mostMembers, this.#members.size);
    if (gone || owner?.kind !== "SandboxClaim") return;
    const before = this.#claimOf.get(uid);
    if (before !== undefined && before !== owner.uid) this.broken.push(`${name} went from one claim to another`);
    this.#claimOf.set(uid, owner.uid);
  }
}
