import { templateOf } from "../control/sandbox-json.ts";
import type { EnvdCall } from "./context.ts";

/** The variables of a new process: those of the sandbox, then those of the request. */
export async function processEnvironment(
  call: Pick<EnvdCall, "context" | "target">,
  own: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  return { ...(await sandboxEnvironment(call)), ...own };
}

export async function sandboxEnvironment({
  context,
  target,
}: Pick<EnvdCall, "context" | "target">): Promise<Readonly<Record<string, string>>> {
  const machine = context.directory.machine(target.namespace, target.name);
  return {
    ...(await context.environments.of(machine?.claim)),
    E2B_SANDBOX: "true",
    E2B_SANDBOX_ID: target.name,
    ...(machine !== undefined && { E2B_TEMPLATE_ID: templateOf(machine) }),
  };
}
