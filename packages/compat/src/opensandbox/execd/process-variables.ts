import { readBody } from "../../http/read-body.ts";
import { RuntimeError, sendRest } from "../../runtime/rest.ts";
import { restPort } from "../../runtime/runtime.ts";
import type { ExecdCall } from "./context.ts";
import { parseVariables } from "./variables-file.ts";
import { variablesFile } from "./work-folders.ts";

const maxBytes = 512 * 1024;

type Variables = Readonly<Record<string, string>>;

/** The variables of a new process: those of the sandbox, those that clients added to the file, then those of the request. */
export async function processVariables(call: ExecdCall, own: Variables = {}): Promise<Variables> {
  const { context, target } = call;
  const [given, added] = await Promise.all([
    context.environments.of(context.directory.machine(target.namespace, target.name)?.claim),
    addedVariables(call),
  ]);
  return {
    ...given,
    ...added,
    EXECD_ENVS: variablesFile,
    // The client of the code interpreter waits until something listens there.
    JUPYTER_PORT: String(restPort),
    ...own,
  };
}

export async function addedVariables({ context, target, signal }: ExecdCall): Promise<Variables> {
  try {
    const path = `/v1/files${variablesFile}`;
    const answer = await sendRest(context.runtime, target, { method: "GET", path, signal });
    return parseVariables((await readBody(answer, maxBytes)).toString("utf8"));
  } catch (error) {
    if (error instanceof RuntimeError && error.status === 404) return {};
    throw error;
  }
}
