import { FairShare, KeyCounts } from "@agent-sandbox/kube";

export interface UserShareOptions {
  readonly total: number;
  /** Default: only the share of the tenant. */
  readonly perUser?: number;
}

/**
 * A limit that users share: each user has at most `perUser`, and each tenant at most as much as is still free, so that there is always
 * some left for the next one. Users are those that the API server names.
 */
export class UserShare {
  readonly #perUser: number;
  readonly #tenants: FairShare;
  readonly #users = new KeyCounts();

  constructor({ total, perUser = total }: UserShareOptions) {
    this.#perUser = perUser;
    this.#tenants = new FairShare(total);
  }

  /** Takes one until the result is disposed. Undefined if the share of the user or its tenant is used up. */
  hold(user: string): Disposable | undefined {
    if (this.#users.of(user) >= this.#perUser) return undefined;
    const held = this.#tenants.hold(tenantOf(user));
    if (held === undefined) return undefined;
    this.#users.add(user);
    const slot = new DisposableStack();
    slot.use(held);
    slot.defer(() => this.#users.add(user, -1));
    return slot;
  }
}

/** A tenant can create any number of service accounts in its namespace, so these share what one user has. */
function tenantOf(user: string): string {
  const [, namespace] = /^system:serviceaccount:([^:]+):/.exec(user) ?? [];
  return namespace === undefined ? `user ${user}` : `namespace ${namespace}`;
}
