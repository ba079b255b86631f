import { badRequest } from "../api-error.ts";
import type { Query } from "../request/query.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import { type FieldSelector, parseFieldSelector } from "../selectors/field-selector.ts";
import { type Matcher, parseLabelSelector } from "../selectors/label-selector.ts";
import type { Stored } from "../store/store.ts";

/** The label and field selectors of a list, a watch or a deletecollection. */
export interface Selection {
  readonly everything: boolean;
  /** Whether matching must parse objects. */
  readonly readsObjects: boolean;
  matches(stored: Stored): boolean;
}

export function parseSelection(query: Query, definition: ResourceDefinition): Selection {
  const labels = labelMatcher(query.text("labelSelector"));
  const fields = fieldSelector(query.text("fieldSelector"), definition);
  return {
    everything: labels === undefined && fields === undefined,
    readsObjects: labels !== undefined || (fields?.fields ?? []).some((field) => !isInKey(field)),
    matches: (stored) =>
      (labels === undefined || labels(stored.labels)) &&
      (fields === undefined || fields.matches(fieldValues(stored, fields, definition))),
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

const isInKey = (field: string): boolean => field === "metadata.name" || field === "metadata.namespace";

function fieldValues(stored: Stored, selector: FieldSelector, definition: ResourceDefinition): Record<string, string> {
  const slash = stored.key.indexOf("/");
  const values: Record<string, string> = {};
  for (const field of selector.fields) {
    if (field === "metadata.name") values[field] = stored.key.slice(slash + 1);
    else if (field === "metadata.namespace") values[field] = stored.key.slice(0, Math.max(slash, 0));
    else values[field] = definition.strategy.selectableFields?.[field]?.(stored.object) ?? "";
  }
  return values;
}
