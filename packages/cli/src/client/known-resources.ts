import {
  type KindResource,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import type { Transport } from "@agent-sandbox/kube/requests";
import { discover, findResource, RefusedError, resolveResource, type ServedResource } from "./discovery.ts";

function own({ apiVersion, kind, plural, namespaced }: KindResource<unknown>, ...shortNames: string[]): ServedResource {
  return { apiVersion, kind, plural, namespaced, singular: kind.toLowerCase(), shortNames };
}

function core(kind: string, plural: string, ...shortNames: string[]): ServedResource {
  const namespaced = kind !== "Namespace" && kind !== "Node";
  return { apiVersion: "v1", kind, plural, namespaced, singular: kind.toLowerCase(), shortNames };
}

/** The resources that users of sandboxes look at most. They have the same names on every server. */
export const knownResources: readonly ServedResource[] = [
  core("ConfigMap", "configmaps", "cm"),
  core("Event", "events", "ev"),
  core("Namespace", "namespaces", "ns"),
  core("Node", "nodes", "no"),
  core("PersistentVolumeClaim", "persistentvolumeclaims", "pvc"),
  core("Pod", "pods", "po"),
  core("Secret", "secrets"),
  core("Service", "services", "svc"),
  own(sandboxes, "sandbox"),
  own(sandboxClaims, "sandboxclaim"),
  own(sandboxTemplates, "sandboxtemplate"),
  own(sandboxWarmPools, "swp"),
  own(sandboxSnapshots, "sbs"),
];

/**
 * Calls `use` with the resources of these words. The server is asked for its resources only if a word is not known here, or if it
 * has no such path: an older server may have another version. `use` is then called a second time.
 */
export async function withResources<T>(
  transport: Transport,
  words: readonly string[],
  use: (resources: readonly ServedResource[]) => Promise<T>,
): Promise<T> {
  const known = words.map((word) => findResource(word, knownResources)).filter((found) => found !== undefined);
  if (known.length === words.length) {
    try {
      return await use(known);
    } catch (error) {
      if (!(error instanceof RefusedError) || error.status !== 404) throw error;
    }
  }
  const served = await discover(transport);
  return use(words.map((word) => resolveResource(word, served)));
}
