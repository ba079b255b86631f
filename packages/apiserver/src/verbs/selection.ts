import { badRequest } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Query } from "../request/query.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import { type FieldSelector, parseFieldSelector } from "../selectors/field-selector.ts";
import { type Matcher, parseLabelSelector } from "../selectors/label-selector.ts";
import type { Stored } from "../store/store.ts";

/** The selectors of a list, a watch or a deletion of many, over stored objects. */
export interface Selection {
  readonly everything: boolean;
  matches(stored: Stored): boolean;
}

export function parseSelection(query: Query, definition: ResourceDefinition): Selection {
  const labels = labelMatcher(query.text("labelSelector"));
  const fields = fieldSelector(query.text("fieldSelector"), definition);
  return {
    everything: labels === undefined && fields === undefined,
    matches: (stored) =>
      (labels === undefined || labels(stored.labels)) &&
      (fields === undefined || fields.matches(fieldValues(stored.object, fields, definition))),
  };
}

function labelMatcher(text: string | undefined): Matcher | undefined {
  if (text === undefined || text === "") return undefined;
  const parsed = parseLabelSelector(text);
  if ("problem" in parsed) throw badRequest(parsed.problem);
  return parsed.matches;
}

function fieldSelector(text: string | undefined, definition: ResourceDefinition): FieldSelector | undefined {
  if (text === undefined || text === "") return undefined;
  const parsed = parseFieldSelector(text);
  if ("problem" in parsed) throw badRequest(parsed.problem);
  const known = definition.strategy.selectableFields;
  for (const field of parsed.selector.fields) {
    if (field === "metadata.name" || field === "metadata.namespace" || Object.hasOwn(known ?? {}, field)) continue;
    throw badRequest(
      known === undefined
        ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${field}`,
    );
  }
  return parsed.selector;
}

function fieldValues(
  object: ApiObject,
  selector: FieldSelector,
  definition: ResourceDefinition,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const field of selector.fields) {
    if (field === "metadata.name") values[field] = object.metadata.name ?? "";
    else if (field === "metadata.namespace") values[field] = object.metadata.namespace ?? "";
    else values[field] = definition.strategy.selectableFields?.[field]?.(object) ?? "";
  }
  return values;
}
