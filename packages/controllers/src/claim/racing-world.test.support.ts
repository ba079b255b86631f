import type { ApiCall, MemoryApiServer } from "@agent-sandbox/kube/testing";
import { expect } from "vitest";
import { ClaimWorld } from "./claim-world.test.support.ts";

/** The write that makes a claim the owner of a pool member. */
export const isTransfer = ({ verb, resource, subresource, body }: ApiCall): boolean =>
  verb === "patch" &&
  resource.plural === "sandboxes" &&
  subresource === undefined &&
  JSON.stringify(body).includes("claim-uid");

export const isClaimStatus = ({ verb, resource, subresource }: ApiCall): boolean =>
  verb === "patch" && resource.plural === "sandboxclaims" && subresource === "status";

export const inDefault = (name: string): { namespace: string; name: string } => ({ namespace: "default", name });

/** All controllers, a template and a full pool, with an API server whose responses a test can change. */
export class RacingWorld extends ClaimWorld {
  static async start(): Promise<RacingWorld> {
    const world = new RacingWorld();
    world.runPods();
    world.startAll();
    await world.template();
    await world.pool();
    await world.settled();
    return world;
  }

  settled(): Promise<void> {
    return this.clock.advance(30_000);
  }

  /** Changes the responses to matching requests. The result returns the number of these requests. */
  intercept(
    matches: (call: ApiCall) => boolean,
    respond: (nth: number, call: ApiCall) => ReturnType<NonNullable<MemoryApiServer["onRequest"]>>,
  ): () => number {
    let seen = 0;
    this.server.onRequest = (call) => (matches(call) ? respond(seen++, call) : undefined);
    return () => seen;
  }

  /** Checks that the claim is Ready and owns the Sandbox in its status and no other. */
  expectBoundOnce(name: string): void {
    const owned = this.owned(this.read(name));
    expect(owned.map(({ metadata }) => metadata.name)).toEqual([this.read(name)?.status?.sandbox?.name]);
    expect(this.ready(name)?.status).toBe("True");
  }
}
