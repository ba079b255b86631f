import {
  choosePool,
  emptyPoolOf,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxTemplates,
} from "@agent-sandbox/api";
import { isSandboxError, SandboxError } from "@agent-sandbox/sdk";
import { type ApiServer, type Deadline, type KubeObject, pools, type Resource } from "@agent-sandbox/sdk/internal";
import { ignoreMissing } from "./find-sandbox.ts";

export const templates: Resource<SandboxTemplate & KubeObject> = {
  apiVersion: sandboxTemplates.apiVersion,
  kind: sandboxTemplates.kind,
  plural: sandboxTemplates.plural,
};

/** The pool that a template name means: a pool of that name, or the pool of the template of that name. */
export async function poolOfTemplate(
  api: ApiServer,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  deadline: Deadline,
): Promise<string> {
  if ((await ignoreMissing(api.get(pools, { namespace, name }, deadline))) !== undefined) return name;
  const template = await ignoreMissing(api.get(templates, { namespace, name }, deadline));
  if (template === undefined) {
    const message = `Cannot find template "${name}" in namespace "${namespace}": list_templates lists them`;
    throw new SandboxError("NotFound", message);
  }
  const all = (await api.list(pools, { namespace }, deadline)) as unknown as readonly SandboxWarmPool[];
  const chosen = choosePool(all, name);
  if (chosen !== undefined) return chosen;
  const pool = emptyPoolOf(template, namespace);
  try {
    await api.create(pools, pool, deadline);
  } catch (error) {
    // Another call has created it in the meantime.
    if (!isSandboxError(error, "AlreadyExists")) throw error;
  }
  return pool.metadata.name ?? name;
}
