import type { Sandbox } from "@agent-sandbox/api";
import type { Directory } from "../cluster/directory.ts";
import { findSandbox } from "../cluster/resolve.ts";
import type { Route } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { SandboxWaiter } from "../wake/sandbox-waiter.ts";

export interface SandboxResolverOptions {
  readonly directory: Directory;
  readonly waiter: SandboxWaiter;
}

/** Looks up the Sandbox that a route names, in whatever state it is. */
export class SandboxResolver {
  readonly #options: SandboxResolverOptions;

  constructor(options: SandboxResolverOptions) {
    this.#options = options;
  }

  /** Undefined when there is no such Sandbox. Throws `NotSynced` until the caches are filled. */
  resolve(route: Route, record: AccessRecord): Sandbox | undefined {
    if (!this.#options.directory.hasSynced) {
      throw new RouterError("NotSynced", "The router does not know the sandboxes yet.", { retryAfterSeconds: 1 });
    }
    const sandbox = this.find(route);
    record.by = route.by;
    record.sandbox = route.name;
    if (sandbox !== undefined) record.namespace = route.namespace;
    return sandbox;
  }

  find(route: Route): Sandbox | undefined {
    const { directory, waiter } = this.#options;
    // The lookup of a ready target is cached.
    const ready = waiter.ready(route);
    const found = ready === undefined ? findSandbox(route, directory) : ready.sandbox;
    return found === "pending" ? undefined : found;
  }
}
