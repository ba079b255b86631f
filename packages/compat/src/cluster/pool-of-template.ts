import { choosePool, emptyPoolOf, type SandboxTemplate, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { type Client, isReason, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { builtInTemplate } from "./built-in-templates.ts";
import { find } from "./machine.ts";
import { isName } from "./names.ts";

interface Place {
  readonly client: Client;
  readonly namespace: string;
}

/** The pool that a template name of a client means: a pool of that name, or the pool of the template of that name. */
export async function poolOfTemplate(place: Place, name: string): Promise<string | undefined> {
  const { client, namespace } = place;
  if (!isName(name)) return undefined;
  if ((await find(client, sandboxWarmPools, { namespace, name })) !== undefined) return name;
  const template = await findTemplate(place, name);
  if (template === undefined) return undefined;
  const { items } = await client.list(sandboxWarmPools, { namespace });
  const chosen = choosePool(items, name);
  if (chosen !== undefined) return chosen;
  const pool = emptyPoolOf(template, namespace);
  await createOnce(client, sandboxWarmPools, pool);
  return pool.metadata.name;
}

/** A template that exists, or a built-in one that is created now. */
async function findTemplate({ client, namespace }: Place, name: string): Promise<SandboxTemplate | undefined> {
  const existing = await find(client, sandboxTemplates, { namespace, name });
  const builtIn = builtInTemplate(name, namespace);
  if (existing !== undefined || builtIn === undefined) return existing;
  await createOnce(client, sandboxTemplates, builtIn);
  return find(client, sandboxTemplates, { namespace, name });
}

/** Another request may have created it in the meantime. */
async function createOnce<T extends KubeObject>(client: Client, resource: Resource<T>, object: T): Promise<void> {
  try {
    await client.create(resource, object);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
  }
}
