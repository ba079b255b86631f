import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "@agent-sandbox/api";
import { RouterRefusal } from "../../runtime/router-refusal.ts";
import type { Target } from "../../runtime/runtime.ts";
import { daemonToken } from "../tokens.ts";
import type { ControlContext } from "./context.ts";

interface Bound {
  readonly namespace: string;
  readonly name: string;
  readonly sandbox: Sandbox;
}

const pauseMs = 50;

/** Resolves when the daemon of the sandbox answers. The router holds the request while the sandbox starts. */
export async function probe(context: ControlContext, bound: Bound, signal: AbortSignal): Promise<void> {
  const target = targetOf(context, bound);
  for (;;) {
    try {
      await context.users.of(target, undefined, signal);
      return;
    } catch (error) {
      // A restored sandbox may be ready a moment before its daemon listens.
      if (!(error instanceof RouterRefusal) || !["Refused", "Unreachable"].includes(error.reason)) throw error;
    }
    await sleep(pauseMs, undefined, { signal });
  }
}

/** The sandbox as this server reaches it on behalf of a caller that may connect to it. */
export function targetOf({ tokens }: ControlContext, { namespace, name, sandbox }: Bound): Target {
  return { namespace, name, uid: sandbox.metadata.uid ?? "", token: daemonToken(tokens, sandbox, { namespace, name }) };
}
