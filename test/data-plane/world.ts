import { type Router, type RouterOptions, startRouter } from "@agent-sandbox/router";
import type { ExpectStatic } from "vitest";
import type { Address } from "./ask.ts";
import type { DataPlaneBox } from "./data-plane-box.ts";
import { Subject } from "./subject.ts";

/** What one test sees: its sandbox, a neighbour on another runtime, and the box both are in. */
export interface World {
  /** The running test's own. */
  readonly expect: ExpectStatic;
  readonly box: DataPlaneBox;
  readonly subject: Subject;
  readonly neighbour: Subject;
  /** Of what takes long and is started before everything else. */
  readonly slow: Promise<SlowOutcome>;
}

export interface SlowOutcome {
  /** Of a command that waited for the head of its own answer. */
  readonly longAnswer: string;
  /** Ports whose daemon hung up on a head that was never finished. */
  readonly hungUpOn: readonly number[];
  /** Takes longer than the others. */
  readonly leased: Promise<Leased>;
}

/** Moments, in seconds since 1970: the status of a Sandbox has whole ones. */
export interface Leased {
  readonly leasedUntil: number;
  readonly asleepSince: number;
}

/** Another router in front of the same sandboxes, with settings the box does not have. */
export async function routerWith(world: World, options: Partial<RouterOptions>): Promise<RouterHandle> {
  const client = await world.box.client();
  const router = await startRouter({ client, listen: { port: 0 }, shutdownMs: 2000, ...options });
  await router.ready;
  const { host = "127.0.0.1", port = 0 } = router.address ?? {};
  const address = { host, port };
  const subject = new Subject(address, world.subject.name, world.subject.token);
  return { router, address, subject, [Symbol.asyncDispose]: () => router[Symbol.asyncDispose]() };
}

export interface RouterHandle extends AsyncDisposable {
  readonly router: Router;
  readonly address: Address;
  /** The same sandbox through this router. */
  readonly subject: Subject;
}
