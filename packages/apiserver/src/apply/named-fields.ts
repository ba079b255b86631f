import { type FieldNode, type FieldSet, setOfNodes } from "./field-set.ts";
import type { FieldType } from "./field-type.ts";

/**
 * The set with all declared members that contain a field of the set. Nobody owns those members themselves, but they must be
 * removed when everything in them is removed.
 */
export function withNamedFields(set: FieldSet, type: FieldType | undefined): FieldSet {
  return setOfNodes([...set.nodes.values()].map((node) => withNamedNode(node, type)));
}

function withNamedNode({ element, member, children }: FieldNode, type: FieldType | undefined): FieldNode {
  const named = element.by === "field" && type?.map?.declares(element.name) === true;
  return {
    element,
    member: member || (named && children.nodes.size > 0),
    children: withNamedFields(children, typeInside(type, element)),
  };
}

function typeInside(type: FieldType | undefined, element: FieldNode["element"]): FieldType | undefined {
  if (element.by === "field") return type?.map?.member(element.name);
  return element.by === "key" ? type?.list?.item : undefined;
}
