import type { Sandbox } from "@agent-sandbox/api";
import { findMachine, type Machine } from "../cluster/machine.ts";
import { notFound } from "../http/http-error.ts";
import type { ApiCall } from "./route.ts";

type Call = Pick<ApiCall<unknown>, "account" | "params">;

/** The machine in the caller's namespace. One that the caller may not see does not exist for it. */
export async function requireMachine({ account, params }: Call): Promise<Machine> {
  const [id = ""] = params;
  const machine = await findMachine(account, id);
  if (machine === undefined) throw noSuchSandbox(id);
  return machine;
}

export async function requireBound(call: Call): Promise<Machine & { readonly sandbox: Sandbox }> {
  const { sandbox, ...machine } = await requireMachine(call);
  if (sandbox === undefined) throw noSuchSandbox(machine.name);
  return { ...machine, sandbox };
}

export const noSuchSandbox = (id: string): Error => notFound(`Sandbox ${JSON.stringify(id.slice(0, 64))} not found`);
