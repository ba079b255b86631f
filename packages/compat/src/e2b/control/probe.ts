import type { Sandbox } from "@agent-sandbox/api";
import type { Target } from "../../runtime/runtime.ts";
import { daemonToken } from "../tokens.ts";
import type { ControlContext } from "./context.ts";

interface Bound {
  readonly namespace: string;
  readonly name: string;
  readonly sandbox: Sandbox;
}

/** Resolves when the daemon of the sandbox answers. The router holds the request until then. */
export async function probe(context: ControlContext, bound: Bound, signal: AbortSignal): Promise<void> {
  await context.users.of(targetOf(context, bound), undefined, signal);
}

/** The sandbox as this server reaches it on behalf of a caller that may connect to it. */
export function targetOf({ tokens }: ControlContext, { namespace, name, sandbox }: Bound): Target {
  return { namespace, name, uid: sandbox.metadata.uid ?? "", token: daemonToken(tokens, sandbox, { namespace, name }) };
}
