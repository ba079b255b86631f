import { type ApiObject, isJsonObject, type JsonObject, objectsAt, valueAt } from "../../api-object.ts";
import { timestamp } from "../../clock.ts";
import type { ResourceDefinition } from "../definition.ts";

export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** The condition reason and message if another kind of the group already has a name of a CustomResourceDefinition. */
export function nameConflict(
  crd: ApiObject,
  others: readonly ResourceDefinition[],
): { reason: string; message: string } | undefined {
  const names = valueAt(crd, "spec", "names");
  const group = valueAt(crd, "spec", "group");
  if (!isJsonObject(names)) return undefined;
  const rivals = others.filter(({ id, versions }) => versions[0].group === group && id !== crd.metadata.name);
  const resourceNames = new Set(
    rivals.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames]),
  );
  const kinds = new Set(rivals.flatMap(({ kind }) => [kind, `${kind}List`]));
  const shortNames = Array.isArray(names["shortNames"]) ? (names["shortNames"] as unknown[]) : [];
  const checks: readonly (readonly [string, readonly unknown[], ReadonlySet<unknown>])[] = [
    ["PluralConflict", [names["plural"]], resourceNames],
    ["SingularConflict", [names["singular"]], resourceNames],
    ["ShortNamesConflict", shortNames, resourceNames],
    ["KindConflict", [names["kind"]], kinds],
    ["ListKindConflict", [names["listKind"]], kinds],
  ];
  for (const [reason, given, taken] of checks) {
    const found = given.find((name) => taken.has(name));
    if (found !== undefined) return { reason, message: `${JSON.stringify(found)} is already in use` };
  }
  return undefined;
}

/** The status of a definition: whether its names are accepted, and therefore whether it is served. */
export function crdStatus(
  crd: ApiObject,
  others: readonly ResourceDefinition[],
  { nowMs, old }: { readonly nowMs: number; readonly old?: ApiObject },
): JsonObject {
  const conflict = nameConflict(crd, others);
  const names = valueAt(crd, "spec", "names");
  const before = old?.["status"];
  const set = (type: string, status: boolean, reason: string, message: string): JsonObject => {
    const text = status ? "True" : "False";
    const known = objectsAt(before, "conditions").find((each) => each["type"] === type);
    const since = known?.["status"] === text ? known["lastTransitionTime"] : timestamp(nowMs);
    return { type, status: text, lastTransitionTime: since, reason, message };
  };
  const established =
    conflict === undefined ||
    objectsAt(before, "conditions").some((each) => each["type"] === "Established" && each["status"] === "True");
  return {
    conditions: [
      conflict === undefined
        ? set("NamesAccepted", true, "NoConflicts", "no conflicts found")
        : set("NamesAccepted", false, conflict.reason, conflict.message),
      established
        ? set("Established", true, "InitialNamesAccepted", "the initial names have been accepted")
        : set("Established", false, "NotAccepted", "not all names are accepted"),
      ...objectsAt(before, "conditions").filter(({ type }) => type !== "NamesAccepted" && type !== "Established"),
    ],
    acceptedNames: conflict === undefined ? names : (valueAt(before, "acceptedNames") ?? { plural: "", kind: "" }),
    storedVersions: storedVersions(crd, before),
  };
}

function storedVersions(crd: ApiObject, before: unknown): unknown[] {
  const kept = valueAt(before, "storedVersions");
  const now = objectsAt(crd, "spec", "versions")
    .filter(({ storage }) => storage === true)
    .map(({ name }) => name);
  return [...new Set([...(Array.isArray(kept) ? (kept as unknown[]) : []), ...now])];
}

export function isEstablished(crd: ApiObject): boolean {
  return objectsAt(crd, "status", "conditions").some(({ type, status }) => type === "Established" && status === "True");
}
