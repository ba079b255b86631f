import type { Sandbox } from "@agent-sandbox/api";
import type { Machine } from "../../cluster/machine.ts";
import { daemonToken, trafficToken } from "../tokens.ts";
import { envdVersion } from "../version.ts";
import type { ControlContext } from "./context.ts";
import { clientID, templateOf } from "./sandbox-json.ts";

/** The answer to create, connect and fork: how to reach the sandbox. */
export function sessionJson(context: ControlContext, machine: Machine & { readonly sandbox: Sandbox }): object {
  const { sandbox, namespace, name } = machine;
  const template = templateOf(machine);
  return {
    sandboxID: name,
    templateID: template,
    alias: template,
    clientID,
    envdVersion,
    envdAccessToken: daemonToken(context.tokens, sandbox, { namespace, name }),
    trafficAccessToken: trafficToken(context.tokens, sandbox, { namespace, name }),
    domain: `${namespace}.${context.domain()}`,
  };
}
