import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { type Client, Informers, type Logger, systemScheduler } from "@agent-sandbox/kube";
import { removeKept } from "../image/kept-rootfs.ts";
import { isSafeUid } from "../layout.ts";
import type { Machine } from "../pod/machine.ts";

export interface DeletedSandboxesOptions {
  readonly client: Client;
  readonly machine: Pick<Machine, "layout" | "suspensions" | "trash">;
  readonly log: Logger;
}

/** A Pod of a deleted Sandbox ends soon after it. */
const roundMs = 500;

/**
 * Removes the saved memory and the kept root filesystem of a Sandbox when it is deleted: they contain its secrets, and count in the
 * quota of its namespace. What this misses, because the node or the watch was interrupted, `Housekeeping` removes later.
 */
export class DeletedSandboxes implements AsyncDisposable {
  readonly #options: DeletedSandboxesOptions;
  readonly #owned = new AsyncDisposableStack();
  /** The UIDs of deleted Sandboxes whose files are not removed yet. */
  readonly #pending = new Set<string>();
  #round: Promise<void> | undefined;
  #timer: Disposable | undefined;
  #stopped = false;

  constructor(options: DeletedSandboxesOptions) {
    this.#options = options;
    const { client, log } = options;
    const informers = this.#owned.use(new Informers({ client, log }));
    const followed = informers.get(sandboxes, { trim: identityOf });
    this.#owned.use(
      followed.subscribe(({ deltas }) => {
        for (const { old, new: current } of deltas) {
          const uid = old?.metadata.uid ?? "";
          if (isSafeUid(uid) && current?.metadata.uid !== uid) this.#pending.add(uid);
        }
        if (this.#pending.size > 0) this.#begin();
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#owned.disposeAsync();
    await this.#round;
  }

  #begin(): void {
    if (this.#stopped || this.#round !== undefined) return;
    this.#timer?.[Symbol.dispose]();
    this.#round = this.#run().finally(() => {
      this.#round = undefined;
      if (this.#pending.size > 0 && !this.#stopped)
        this.#timer = systemScheduler.schedule(roundMs, () => this.#begin());
    });
  }

  async #run(): Promise<void> {
    const { machine, log } = this.#options;
    for (const uid of this.#pending) {
      try {
        if (!(await removeKept(machine.layout, uid, (path) => machine.trash.discard(path)))) continue;
        await machine.suspensions.forget(uid);
      } catch (error) {
        log.warn({ error, sandbox: uid }, "files of a deleted sandbox not removed");
      }
      // An error is left to housekeeping.
      this.#pending.delete(uid);
    }
  }
}

function identityOf({ apiVersion, kind, metadata }: Sandbox): Sandbox {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } } as Sandbox;
}
