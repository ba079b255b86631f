import { sandboxes } from "@agent-sandbox/api";
import { type Client, isReason, type Logger, systemScheduler } from "@agent-sandbox/kube";
import { sweepKept } from "./image/kept-rootfs.ts";
import type { Machine } from "./pod/machine.ts";
import { type OfferedRuntimes, syncRuntimeClasses } from "./runtime/runtime-classes.ts";
import { kernelOf } from "./runtime/shared-kernel.ts";
import { sweepSnapshots } from "./state/snapshot-controller.ts";

const everyMs = 5 * 60_000;

export interface HousekeepingOptions {
  readonly client: Client;
  readonly machine: Machine;
  readonly log: Logger;
}

/**
 * Periodic tasks: removes images above the store's limit and kept root filesystems and saved memory of deleted Sandboxes, files of deleted snapshots, and
 * updates the RuntimeClasses. A failed task is logged and runs again the next time.
 */
export class Housekeeping implements AsyncDisposable {
  readonly #options: HousekeepingOptions;
  #round: Promise<void>;
  #timer: Disposable | undefined;
  #stopped = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#round = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#round;
  }

  async #run(): Promise<void> {
    const { client, machine, log } = this.#options;
    const tasks: Readonly<Record<string, () => Promise<unknown>>> = {
      "runtime classes": () => syncRuntimeClasses(client, offeredBy(machine)),
      "kept root filesystems": async () => {
        const removed = await sweepKept({
          layout: machine.layout,
          sandboxes: () => sandboxUids(client),
          discard: (path) => machine.trash.discard(path),
        });
        if (removed.length > 0) log.info({ sandboxes: removed }, "kept root filesystems removed");
      },
      "saved memory": async () => {
        const removed = await machine.suspensions.sweep(() => sandboxUids(client), machine.now());
        if (removed.length > 0) log.info({ sandboxes: removed }, "images of deleted sandboxes removed");
      },
      "decrypted images": async () => machine.vault.sweep((await machine.records.list()).values()),
      snapshots: async () => {
        const removed = await sweepSnapshots(client, machine.snapshots);
        if (removed.length > 0) log.info({ snapshots: removed }, "files of deleted snapshots removed");
      },
      addresses: async () => {
        const known = await sandboxUids(client);
        if (known !== undefined) machine.network.pool.forgetAllBut(known);
      },
      images: async () => {
        const removed = await machine.images.collect();
        if (removed.length > 0) log.info({ images: removed.map(({ id }) => id) }, "images removed");
      },
    };
    for (const [task, work] of Object.entries(tasks)) {
      if (this.#stopped) return;
      await work().catch((error: unknown) => {
        // The API server does not have this kind, so there is nothing to do.
        if (!isReason(error, "NotFound")) log.warn({ error, task }, "housekeeping failed");
      });
    }
    if (this.#stopped) return;
    this.#timer = systemScheduler.schedule(everyMs, () => {
      this.#round = this.#run();
    });
  }
}

async function sandboxUids(client: Client): Promise<ReadonlySet<string> | undefined> {
  try {
    const { items } = await client.list(sandboxes);
    return new Set(items.flatMap(({ metadata }) => metadata?.uid ?? []));
  } catch (error) {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  }
}

function offeredBy({ rules, runtimes }: Machine): OfferedRuntimes {
  const kernels = [...runtimes.values()].flatMap((runtime) => {
    const kernel = kernelOf(runtime);
    return kernel === undefined ? [] : ([[runtime.name, kernel]] as const);
  });
  return { ...rules, kernels: new Map(kernels) };
}
