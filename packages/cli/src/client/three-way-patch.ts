/** The annotation kubectl keeps the last applied object in, so that both tools can take turns on one object. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

type Json = Readonly<Record<string, unknown>>;

/**
 * The merge patch from `live` to `wanted`: fields of `wanted` are set, and fields that were applied before and are no longer
 * wanted are removed. Fields of other writers are kept. Undefined if nothing changes.
 */
export function threeWayPatch(lastApplied: Json, wanted: Json, live: Json): Json | undefined {
  const patch: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(wanted)) {
    const change = changeOf(lastApplied[key], value, live[key]);
    if (change !== undefined) patch[key] = change;
  }
  for (const key of Object.keys(lastApplied)) {
    if (!Object.hasOwn(wanted, key) && Object.hasOwn(live, key)) patch[key] = null;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function changeOf(before: unknown, wanted: unknown, live: unknown): unknown {
  if (isRecord(wanted) && isRecord(live)) return threeWayPatch(isRecord(before) ? before : {}, wanted, live);
  return JSON.stringify(sorted(wanted)) === JSON.stringify(sorted(live)) ? undefined : wanted;
}

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
