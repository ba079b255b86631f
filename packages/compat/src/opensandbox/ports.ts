import type { Sandbox } from "@agent-sandbox/api";
import type { SandboxTokens, TokenScope } from "../ports.ts";
import { restPort, rpcPort, type Target } from "../runtime/runtime.ts";

/** The ports of OpenSandbox's daemon and of its egress proxy. Both are served here, not in the sandbox. */
export const execdPort = 44_772;
export const egressPort = 18_080;

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** What a token for one port of a client opens: for the daemon also the ports of the runtime that serve it. */
export function scopeOf({ namespace, name }: Place, port: number): Omit<TokenScope, "uid"> {
  return { namespace, name, ports: port === execdPort ? [execdPort, restPort, rpcPort] : [port] };
}

export function portToken(tokens: SandboxTokens, sandbox: Sandbox, place: Place, port: number): string {
  return tokens.mint(sandbox, scopeOf(place, port));
}

/** The daemon of a sandbox, for a caller who may connect to it. */
export function daemonTarget(tokens: SandboxTokens, sandbox: Sandbox, { namespace, name }: Place): Target {
  const token = portToken(tokens, sandbox, { namespace, name }, execdPort);
  return { namespace, name, uid: sandbox.metadata.uid ?? "", token };
}
