import { type Sandbox, SandboxError } from "@agent-sandbox/sdk";
import type { Call } from "../caller.ts";
import { defaultSandbox } from "./default-sandbox.ts";
import { findSandbox } from "./find-sandbox.ts";
import { type FoundSandbox, handleOf } from "./found-sandbox.ts";

/** The arguments of every tool that uses a sandbox. */
export interface SandboxArguments {
  readonly sandbox?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The named sandbox, or the caller's default one. */
export async function requireSandbox(call: Call, { sandbox, namespace }: SandboxArguments): Promise<FoundSandbox> {
  const { caller, settings } = call;
  const place = namespace ?? caller.namespace;
  if (sandbox === undefined) {
    if (settings.autoSandbox) return defaultSandbox(call, place);
    throw new SandboxError("InvalidArgument", "Name a sandbox: create_sandbox makes one, list_sandboxes lists yours");
  }
  const found = await findSandbox(call, { namespace: place, name: sandbox });
  if (found !== undefined) return found;
  const message = `Cannot find sandbox "${sandbox}" in namespace "${place}": it was deleted, has expired or never existed`;
  throw new SandboxError("NotFound", `${message}. list_sandboxes lists yours, create_sandbox makes one`);
}

/** The handle of the named sandbox, or of the caller's default one. */
export async function useSandbox(call: Call, args: SandboxArguments): Promise<Sandbox> {
  return handleOf(call.caller, await requireSandbox(call, args));
}
