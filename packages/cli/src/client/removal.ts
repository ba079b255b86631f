import { sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import type { Connection } from "./connect.ts";

/** A sandbox with a lease expires this long after the program that renews it was killed. */
export const leaseMs = 120_000;

/** The `shutdownTime` of a sandbox that the server deletes after this time. The API has whole seconds. */
export function shutdownIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString().replace(/\.\d+/, "");
}

/** Deletes a sandbox at the end of a command, unless it is cancelled. */
export class Removal implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #name: { readonly name: string; readonly namespace: string };
  readonly #uid: string;
  #renewal: NodeJS.Timeout | undefined;
  #isCancelled = false;

  constructor(connection: Connection, { name = "", uid = "" }: { readonly name?: string; readonly uid?: string }) {
    this.#connection = connection;
    this.#name = { name, namespace: connection.namespace };
    this.#uid = uid;
  }

  /** Postpones the deletion by the server as long as this program lives. */
  renewLease(): void {
    this.#renewal = setInterval(() => void this.#renew().catch(() => undefined), leaseMs / 3);
  }

  /** The sandbox stays. */
  cancel(): void {
    this.#isCancelled = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#renewal);
    if (this.#isCancelled) return;
    try {
      await this.#connection.client.delete(sandboxes, this.#name, { preconditions: { uid: this.#uid } });
    } catch (error) {
      if (!isReason(error, "NotFound") && !isReason(error, "Conflict")) throw error;
    }
  }

  async #renew(): Promise<void> {
    const body = { spec: { shutdownTime: shutdownIn(leaseMs) } };
    await this.#connection.client.patch(sandboxes, this.#name, {
      type: "merge",
      body,
      preconditions: { uid: this.#uid },
    });
  }
}
