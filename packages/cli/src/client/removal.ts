import {
  type KindResource,
  type ObjectMeta,
  type Sandbox,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
} from "@agent-sandbox/api";
import type { KubeObject } from "@agent-sandbox/kube";
import { isReason } from "@agent-sandbox/kube/requests";
import type { Connection } from "./connect.ts";

/** An object with a lease expires this long after the program that renews it was killed. */
export const leaseMs = 120_000;

/** The `shutdownTime` of an object that the server deletes after this time. The API has whole seconds. */
export function shutdownIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString().replace(/\.\d+/, "");
}

/** A kind of objects that a command creates and deletes. */
export interface Removable<T> {
  readonly resource: KindResource<T>;
}

/** A kind whose objects the server deletes at a time that can be postponed. */
export interface Expiring<T> extends Removable<T> {
  /** The part of the spec with the time. */
  readonly expiry: (shutdownTime: string) => object;
}

const deletion = { shutdownPolicy: "Delete" } as const;

export const expiringSandbox: Expiring<Sandbox> = {
  resource: sandboxes,
  expiry: (shutdownTime) => ({ shutdownTime, ...deletion }),
};

export const expiringClaim: Expiring<SandboxClaim> = {
  resource: sandboxClaims,
  expiry: (shutdownTime) => ({ lifecycle: { shutdownTime, ...deletion } }),
};

/** Deletes a sandbox or a claim at the end of a command, unless it is cancelled. */
export class Removal<T extends KubeObject & { metadata: ObjectMeta }> implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #kind: Removable<T> & Partial<Expiring<T>>;
  readonly #name: { readonly name: string; readonly namespace: string };
  readonly #uid: string;
  #renewal: NodeJS.Timeout | undefined;
  #isCancelled = false;

  constructor(
    connection: Connection,
    kind: Removable<T> & Partial<Expiring<T>>,
    { metadata: { name = "", uid = "" } }: T,
  ) {
    this.#connection = connection;
    this.#kind = kind;
    this.#name = { name, namespace: connection.namespace };
    this.#uid = uid;
  }

  /** Postpones the deletion by the server as long as this program lives. */
  renewLease(): void {
    this.#renewal = setInterval(() => void this.#renew().catch(() => undefined), leaseMs / 3);
  }

  /** The object stays. */
  cancel(): void {
    this.#isCancelled = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#renewal);
    if (this.#isCancelled) return;
    try {
      const preconditions = { uid: this.#uid };
      await this.#connection.client.delete(this.#kind.resource, this.#name, { preconditions });
    } catch (error) {
      if (!isReason(error, "NotFound") && !isReason(error, "Conflict")) throw error;
    }
  }

  async #renew(): Promise<void> {
    await this.#connection.client.patch(this.#kind.resource, this.#name, {
      type: "merge",
      body: { spec: this.#kind.expiry?.(shutdownIn(leaseMs)) },
      preconditions: { uid: this.#uid },
    });
  }
}
