import { randomBytes } from "node:crypto";
import { isReason, type KubeObject } from "@agent-sandbox/kube/requests";
import type { Connection } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { applyOne } from "./apply-one.ts";
import { labelsOf, type OperatorObject, partOf } from "./manifest.ts";
import { removableKinds, resourceOf, secrets } from "./resources.ts";
import { routerKeysSecret, routerName } from "./settings.ts";

/** Applies the objects in their order and prints what happened to each, as kubectl does. */
export async function applyObjects(
  connection: Connection,
  objects: readonly OperatorObject[],
  say: (line: string) => void,
): Promise<void> {
  for (const object of objects)
    say(`${displayName(resourceOf(object), object.metadata.name)} ${await applyOne(connection.client, object)}`);
}

/** Creates the key that all replicas of the router share, unless there is one: a new one would invalidate all scoped tokens. */
export async function ensureRouterKey(
  { client }: Connection,
  namespace: string,
  say: (line: string) => void,
): Promise<void> {
  const metadata = { namespace, name: routerKeysSecret, labels: labelsOf(routerName) };
  const stringData = { key: randomBytes(32).toString("hex") };
  try {
    await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata, stringData } as KubeObject);
    say(`secret/${routerKeysSecret} created`);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    say(`secret/${routerKeysSecret} unchanged`);
  }
}

/** Deletes objects of an installation that `kept` does not contain, and prints each. Workloads first, roles last. */
export async function deleteOthers(
  { client }: Connection,
  { namespace, kept }: { readonly namespace: string; readonly kept: readonly OperatorObject[] },
  say: (line: string) => void,
): Promise<void> {
  const [label, value] = Object.entries(partOf)[0] ?? [];
  const isKept = (kind: string, name: string | undefined): boolean =>
    kept.some((object) => object.kind === kind && object.metadata.name === name);
  for (const resource of removableKinds.toReversed()) {
    const scope = resource.namespaced ? { namespace } : {};
    const { items } = await client.list(resource, { ...scope, labelSelector: `${label}=${value}` });
    for (const { metadata = {} } of items) {
      if (isKept(resource.kind, metadata.name) || !isOf(namespace, metadata)) continue;
      const key = { name: metadata.name ?? "", ...scope };
      await client.delete(resource, key, { propagationPolicy: "Foreground" }).catch((error: unknown) => {
        if (!isReason(error, "NotFound")) throw error;
      });
      say(`${displayName(resource, metadata.name ?? "")} deleted`);
    }
  }
}

/** Objects of a Helm release belong to Helm. */
function isOf(
  namespace: string,
  { labels = {}, namespace: own = namespace }: NonNullable<KubeObject["metadata"]>,
): boolean {
  return own === namespace && labels["app.kubernetes.io/managed-by"] !== "Helm";
}
