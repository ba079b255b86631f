import { isJsonObject } from "../api-object.ts";
import { maxJsonDepth } from "../json.ts";
import { type FieldNode, type FieldSet, isEmptySet, noFields, setOfNodes, sortedNodes } from "./field-set.ts";
import { parseElement } from "./path-element.ts";

/** The wire format `FieldsV1`: keys with `f:`, `k:`, `v:` and `i:` name fields, `.` means that the field itself is a member. */
export interface FieldsV1 {
  readonly [element: string]: FieldsV1;
}

/** Writes keys in the same order as Kubernetes, so that equal sets have equal bytes. */
export function encodeFields(set: FieldSet): FieldsV1 {
  return Object.fromEntries(sortedNodes(set).map((node) => [node.element.id, encodeNode(node)]));
}

export function encodeNode({ member, children }: FieldNode): FieldsV1 {
  if (isEmptySet(children)) return {};
  return member ? { ".": {}, ...encodeFields(children) } : encodeFields(children);
}

export type DecodedFields = { readonly set: FieldSet } | { readonly problem: string };

/** Decodes fields of a client or the store. Ignores unknown kinds of elements; returns a problem for everything else. */
export function decodeFields(fields: unknown): DecodedFields {
  const decoded = decodeLevel(fields, 1);
  return "problem" in decoded ? decoded : { set: decoded.children };
}

type DecodedLevel = { readonly member: boolean; readonly children: FieldSet } | { readonly problem: string };

function decodeLevel(fields: unknown, depth: number): DecodedLevel {
  if (depth > maxJsonDepth) return { problem: `the fields are nested deeper than ${maxJsonDepth} levels` };
  if (fields === null) return { member: true, children: noFields };
  if (!isJsonObject(fields)) return { problem: `${JSON.stringify(fields)} is not an object of path elements` };
  let member = false;
  const nodes = new Map<string, FieldNode>();
  for (const [key, value] of Object.entries(fields)) {
    if (key === ".") {
      member = true;
      continue;
    }
    const parsed = parseElement(key);
    if ("problem" in parsed) return parsed;
    if ("unknown" in parsed) continue;
    const inner = decodeLevel(value, depth + 1);
    if ("problem" in inner) return inner;
    nodes.set(parsed.element.id, { element: parsed.element, ...inner });
  }
  const children = setOfNodes(nodes.values());
  return { member: member || isEmptySet(children), children };
}
