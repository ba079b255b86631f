import {
  type Condition,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { type Controller, isControlledBy } from "@agent-sandbox/kube";
import { claimOf, poolOf, templateOf } from "../extensions.test.support.ts";
import { startSandboxController } from "../sandbox/controller.ts";
import { startTemplateController } from "../template/controller.ts";
import { startWarmPoolController } from "../warm-pool/controller.ts";
import { World } from "../world.test.support.ts";
import { type ClaimControllerOptions, startClaimController } from "./controller.ts";

/** A world with a template, pools, and Pods that become Ready. */
export class ClaimWorld extends World {
  readonly namespace = "default";

  /** All four controllers. */
  startAll(options: Partial<ClaimControllerOptions> = {}): Controller {
    this.start(startSandboxController({ ...this.context, now: () => this.clock.date() }));
    this.start(startTemplateController(this.context));
    this.start(startWarmPoolController(this.context));
    return this.startClaims(options);
  }

  startClaims(options: Partial<ClaimControllerOptions> = {}): Controller {
    return this.start(startClaimController({ ...this.context, ...options }));
  }

  /** A second process that also believes to be the leader, with its own caches. */
  secondProcess(cleanup: AsyncDisposableStack): void {
    const context = this.openContext(cleanup);
    cleanup.use(startWarmPoolController(context));
    cleanup.use(startClaimController(context));
  }

  async template(spec: Partial<SandboxTemplate["spec"]> = {}, namespace = "default"): Promise<void> {
    const { spec: given, ...rest } = templateOf();
    await this.user.create(sandboxTemplates, {
      ...rest,
      metadata: { name: "test-template", namespace },
      spec: { ...given, ...spec },
    });
  }

  async pool(spec: Partial<SandboxWarmPool["spec"]> = {}, namespace = "default"): Promise<void> {
    await this.user.create(sandboxWarmPools, { ...poolOf(spec), metadata: { name: "pool", namespace } });
  }

  claim(
    name: string,
    spec: Partial<SandboxClaim["spec"]> = {},
    over: SandboxClaim["metadata"] = {},
  ): Promise<SandboxClaim> {
    return this.user.create(sandboxClaims, { ...claimOf(spec), metadata: { name, namespace: "default", ...over } });
  }

  read(name: string): SandboxClaim | undefined {
    return this.server.read(sandboxClaims, { namespace: "default", name });
  }

  ready(name: string): Condition | undefined {
    return this.read(name)?.status?.conditions?.find(({ type }) => type === "Ready");
  }

  /** The Sandboxes that the claim controls. */
  owned(claim: SandboxClaim | undefined): Sandbox[] {
    return this.server.readAll(sandboxes).filter((sandbox) => claim && isControlledBy(sandbox, claim));
  }

  /** Unclaimed pool members. */
  members(): Sandbox[] {
    return this.server
      .readAll(sandboxes)
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ kind }) => kind === "SandboxWarmPool"));
  }

  /** The writes since `before`, by kind. */
  since(before: Readonly<Record<string, number>>): Record<string, number> {
    const entries = Object.entries(this.writes()).map(([what, count]) => [what, count - (before[what] ?? 0)] as const);
    return Object.fromEntries(entries.filter(([, count]) => count > 0));
  }
}
