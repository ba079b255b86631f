import type { Sandbox } from "@agent-sandbox/api";
import type { SandboxTokens } from "../ports.ts";
import { restPort, rpcPort } from "../runtime/runtime.ts";
import { codePort, envdPort } from "./version.ts";

/** The ports that the token for the daemon opens: those that clients know, and those of the runtime that serve them. */
const daemonPorts: readonly number[] = [envdPort, codePort, restPort, rpcPort];

interface Place {
  readonly namespace: string;
  readonly name: string;
}

export function daemonToken(tokens: SandboxTokens, sandbox: Sandbox, { namespace, name }: Place): string {
  return tokens.mint(sandbox, { namespace, name, ports: daemonPorts });
}

/** Every token that signed links of the sandbox may have been made with. */
export function daemonTokens(tokens: SandboxTokens, sandbox: Sandbox, { namespace, name }: Place): readonly string[] {
  return tokens.mintAll(sandbox, { namespace, name, ports: daemonPorts });
}

/** Opens every port. */
export function trafficToken(tokens: SandboxTokens, sandbox: Sandbox, { namespace, name }: Place): string {
  return tokens.mint(sandbox, { namespace, name });
}
