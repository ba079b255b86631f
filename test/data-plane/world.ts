import { type Router, type RouterOptions, startRouter } from "@agent-sandbox/router";
import type { ExpectStatic } from "vitest";
import type { Address } from "./ask.ts";
import type { DataPlaneBox } from "./data-plane-box.ts";
import { Subject } from "./subject.ts";

/** The environment of a test: its sandbox, another one on the other runtime, and the box. */
export interface World {
  /** The `expect` of the running test. */
  readonly expect: ExpectStatic;
  readonly box: DataPlaneBox;
  readonly subject: Subject;
  readonly neighbour: Subject;
  /** Results of slow operations that are started before the tests. */
  readonly slow: Promise<SlowOutcome>;
}

export interface SlowOutcome {
  /** Result of a command that waits for the headers of its own response. */
  readonly longAnswer: string;
  /** Ports whose daemon closed a connection with an incomplete head. */
  readonly hungUpOn: readonly number[];
  /** Takes longest. */
  readonly leased: Promise<Leased>;
}

/** Times in seconds since 1970. The status of a Sandbox has whole seconds. */
export interface Leased {
  readonly leasedUntil: number;
  readonly asleepSince: number;
}

/** Another router for the same sandboxes, with other settings. */
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
