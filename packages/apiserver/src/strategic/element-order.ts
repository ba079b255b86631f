import { isJsonObject } from "../api-object.ts";
import { plainText } from "../apply/go-format.ts";
import { hasDirective, setElementOrder } from "./directives.ts";
import { noMergeKey, notMap, PatchProblem } from "./patch-problem.ts";

/** Identifies an item within its list: the value of its merge key, or the item itself if the list has no key. */
export function identity(item: unknown, mergeKey: string): unknown {
  if (mergeKey === "") return item;
  if (!isJsonObject(item)) throw notMap(item);
  if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  return item[mergeKey];
}

export interface Ordering {
  /** The list to sort. */
  readonly merged: readonly unknown[];
  /** The wanted order. Items that are not in it are on the server only. */
  readonly wanted: readonly unknown[];
  readonly live: readonly unknown[];
  readonly mergeKey: string;
}

/**
 * Sorts wanted items in the wanted order and server-only items in the order of the live list. The two are interleaved so
 * that a server-only item stays before the wanted items that followed it in the live list.
 */
export function inOrder({ merged, wanted, live, mergeKey }: Ordering): unknown[] {
  const wantedPlaces = placesOf(wanted, mergeKey);
  const livePlaces = placesOf(live, mergeKey);
  const isWanted = (item: unknown): boolean => wantedPlaces.has(identity(item, mergeKey));
  const sorted = (items: unknown[], places: Places): unknown[] =>
    items.sort((left, right) => placeOf(left, places, mergeKey) - placeOf(right, places, mergeKey));
  const ours = sorted(merged.filter(isWanted), wantedPlaces);
  const theirs = sorted(
    merged.filter((item) => !isWanted(item)),
    livePlaces,
  );
  return woven(theirs, ours, (item) => livePlaces.get(identity(item, mergeKey)));
}

/** The order that a merged list takes from the live list: new items fill, at the end, the places of deleted items. */
export function withFreshItems(live: readonly unknown[], merged: readonly unknown[], mergeKey: string): unknown[] {
  const before = placesOf(live, mergeKey);
  const after = placesOf(merged, mergeKey);
  const kept = live.filter((item) => after.has(identity(item, mergeKey)));
  const fresh = merged.filter((item) => !before.has(identity(item, mergeKey)));
  return [...kept, ...fresh.slice(0, live.length - kept.length)];
}

type Places = ReadonlyMap<unknown, number>;

/** The index of each item by its identity; the first index if the list contains it more than once. */
export function placesOf(items: readonly unknown[], mergeKey: string): Map<unknown, number> {
  const places = new Map<unknown, number>();
  for (const [at, item] of items.entries()) {
    const key = identity(item, mergeKey);
    if (!places.has(key)) places.set(key, at);
  }
  return places;
}

const placeOf = (item: unknown, places: Places, mergeKey: string): number =>
  places.get(identity(item, mergeKey)) ?? places.size;

function woven(
  theirs: readonly unknown[],
  ours: readonly unknown[],
  livePlace: (item: unknown) => number | undefined,
): unknown[] {
  const result: unknown[] = [];
  let at = 0;
  for (const item of ours) {
    const place = livePlace(item) ?? Number.NEGATIVE_INFINITY;
    const from = at;
    while (at < theirs.length && (livePlace(theirs[at]) ?? Number.POSITIVE_INFINITY) < place) at += 1;
    result.push(...theirs.slice(from, at), item);
  }
  return [...result, ...theirs.slice(at)];
}

/** Checks that the items of a patch, directives aside, are in `order` and follow that order. */
export function checkOrder(patch: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return;
  let at = 0;
  for (const item of patch.filter((each) => !hasDirective(each))) {
    while (at < order.length && identity(item, mergeKey) !== identity(order[at], mergeKey)) at += 1;
    if (at >= order.length) {
      throw new PatchProblem(
        `The order in patch list:\n${plainText(patch)}\n doesn't match ${setElementOrder} list:\n${plainText(order)}\n`,
      );
    }
    at += 1;
  }
}
