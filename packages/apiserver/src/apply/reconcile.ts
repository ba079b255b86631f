import { type FieldNode, type FieldSet, fieldSetOf, isEmptySet, union, without } from "./field-set.ts";
import type { FieldType } from "./field-type.ts";
import type { FieldPath } from "./path-element.ts";

/**
 * Updates a set for a schema in which a map or list became atomic: the owner of a part becomes the owner of the whole. Like
 * kube-apiserver, does nothing in the other direction: the owner of the whole does not become the owner of parts.
 */
export function reconcileFields(set: FieldSet, type: FieldType): FieldSet {
  const whole = fieldSetOf(madeAtomic(set, type, { path: [], owned: false }));
  return isEmptySet(whole) ? set : union(without(set, whole), whole);
}

interface Place {
  readonly path: FieldPath;
  /** Whether the field at the path is already owned as a whole. */
  readonly owned: boolean;
}

function* madeAtomic(set: FieldSet, type: FieldType, { path, owned }: Place): Generator<FieldPath> {
  const { map, list } = type;
  if (map !== undefined) {
    if (map.untyped) return;
    if (map.atomic && !owned) {
      if (!isEmptySet(set)) yield path;
      return;
    }
    yield* inParts(set, path, ({ element }) => (element.by === "field" ? map.member(element.name) : undefined));
  } else if (list !== undefined && type.scalar === undefined) {
    if (list.atomic && !owned) yield path;
    else yield* inParts(set, path, () => list.item);
  }
}

function* inParts(
  set: FieldSet,
  path: FieldPath,
  typeOf: (node: FieldNode) => FieldType | undefined,
): Generator<FieldPath> {
  for (const node of set.nodes.values()) {
    const type = typeOf(node);
    if (type === undefined) continue;
    const owned = node.member && isEmptySet(node.children);
    yield* madeAtomic(node.children, type, { path: [...path, node.element], owned });
  }
}
