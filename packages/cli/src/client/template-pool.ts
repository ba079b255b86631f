import {
  choosePool,
  emptyPoolOf,
  type SandboxTemplate,
  sandboxTemplates,
  sandboxWarmPools,
  shadowPoolPrefix,
} from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import type { Connection } from "./connect.ts";

type Place = Pick<Connection, "client">;

/** The pool from which claims get sandboxes of a template. A template without a pool gets an empty one. */
export async function poolOfTemplate({ client }: Place, namespace: string, template: SandboxTemplate): Promise<string> {
  const { name = "" } = template.metadata;
  const { items } = await client.list(sandboxWarmPools, { namespace });
  const pool = choosePool(items, name);
  if (pool !== undefined) return pool;
  try {
    await client.create(sandboxWarmPools, emptyPoolOf(template, namespace));
  } catch (error) {
    // Another claim created it meanwhile.
    if (!isReason(error, "AlreadyExists")) throw error;
  }
  return shadowPoolPrefix + name;
}

export async function findTemplate(
  { client }: Place,
  namespace: string,
  name: string,
): Promise<SandboxTemplate | undefined> {
  try {
    return await client.get(sandboxTemplates, { name, namespace });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
    return undefined;
  }
}
