import {
  type Sandbox,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { type Controller, isControlledBy } from "@agent-sandbox/kube";
import { claimOf, poolOf, readyStatus, templateOf } from "../extensions.test.support.ts";
import { World } from "../world.test.support.ts";
import { startWarmPoolController } from "./controller.ts";
import type { PoolSettings } from "./settings.ts";

export const poolKey = { namespace: "default", name: "pool" };

/** A world with pools. */
export class PoolWorld extends World {
  startPools(settings: Partial<PoolSettings> = {}): Controller {
    return this.start(startWarmPoolController({ ...this.context, settings }));
  }

  template(): Promise<SandboxTemplate> {
    return this.user.create(sandboxTemplates, templateOf());
  }

  createPool(spec: Partial<SandboxWarmPool["spec"]> = {}, name = "pool"): Promise<SandboxWarmPool> {
    const { uid: _uid, resourceVersion: _version, ...metadata } = poolOf().metadata;
    return this.user.create(sandboxWarmPools, { ...poolOf(spec), metadata: { ...metadata, name } });
  }

  settled(): Promise<void> {
    return this.clock.advance(30_000);
  }

  members(pool: typeof poolKey = poolKey): Sandbox[] {
    const owner = this.server.read(sandboxWarmPools, pool);
    return this.server.readAll(sandboxes).filter((sandbox) => owner && isControlledBy(sandbox, owner));
  }

  async scale(replicas: number): Promise<void> {
    await this.user.patch(sandboxWarmPools, poolKey, { type: "merge", body: { spec: { replicas } } });
  }

  async setReady(sandbox: Sandbox): Promise<void> {
    const patch = { type: "merge", body: { status: readyStatus } } as const;
    await this.user.patch(sandboxes, keyOf(sandbox), patch, { subresource: "status" });
  }

  /** Makes a claim the controller of a member. */
  async takeBy(sandbox: Sandbox, uid: string): Promise<void> {
    const { apiVersion, kind } = claimOf();
    const ownerReferences = [{ apiVersion, kind, name: "c", uid, controller: true }];
    const metadata = { ownerReferences, labels: { "agents.x-k8s.io/warm-pool-sandbox": null } };
    await this.user.patch(sandboxes, keyOf(sandbox), { type: "merge", body: { metadata } });
  }

  /** The number of Sandboxes that were created. */
  get created(): number | undefined {
    return this.server.writes.get("create sandboxes");
  }
}

function keyOf({ metadata }: Sandbox): typeof poolKey {
  return { namespace: "default", name: metadata.name ?? "" };
}
