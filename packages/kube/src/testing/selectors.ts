import { KubeError } from "../errors.ts";
import type { KubeObject } from "../resource.ts";

export type Matches = (object: KubeObject) => boolean;

/** The filter for the namespace and selectors of a list or watch. */
export function compileFilter(namespace: string | undefined, query: URLSearchParams): Matches {
  const terms: Matches[] = [
    ...(namespace === undefined ? [] : [(object: KubeObject) => object.metadata?.namespace === namespace]),
    ...splitTerms(query.get("labelSelector")).map(labelTerm),
    ...splitTerms(query.get("fieldSelector")).map(fieldTerm),
  ];
  return (object) => terms.every((term) => term(object));
}

/** Commas inside `in (a,b)` do not separate terms. */
function splitTerms(selector: string | null): string[] {
  return (selector ?? "")
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== "");
}

function labelTerm(term: string): Matches {
  const set = /^(?<label>\S+)\s+(?<not>not)?in\s*\((?<values>[^)]*)\)$/.exec(term)?.groups;
  if (set !== undefined) {
    const values = (set["values"] ?? "").split(",").map((value) => value.trim());
    return (object) => values.includes(labelOf(object, set["label"]) ?? "\0") === (set["not"] === undefined);
  }
  const equality = /^(?<label>[^\s!=]+)\s*(?<operator>==?|!=)\s*(?<value>[^\s=]*)$/.exec(term)?.groups;
  if (equality !== undefined) {
    return (object) => (labelOf(object, equality["label"]) === equality["value"]) === (equality["operator"] !== "!=");
  }
  const existence = /^(?<not>!)?\s*(?<label>[^\s!=()]+)$/.exec(term)?.groups;
  if (existence === undefined) throw new KubeError("BadRequest", `label selector "${term}" cannot be parsed`);
  return (object) => (labelOf(object, existence["label"]) === undefined) === (existence["not"] !== undefined);
}

function labelOf(object: KubeObject, label: string | undefined): string | undefined {
  return object.metadata?.labels?.[label ?? ""];
}

const fields: Readonly<Record<string, (object: KubeObject) => string | undefined>> = {
  "metadata.name": (object) => object.metadata?.name,
  "metadata.namespace": (object) => object.metadata?.namespace,
  "spec.nodeName": (object) => (object as { spec?: { nodeName?: string } }).spec?.nodeName,
};

function fieldTerm(term: string): Matches {
  const { field, operator, value } = /^(?<field>[^=!]+)(?<operator>==?|!=)(?<value>.*)$/.exec(term)?.groups ?? {};
  const read = fields[field ?? ""];
  if (read === undefined) throw new KubeError("BadRequest", `field selector "${term}" is not supported`);
  return (object) => ((read(object) ?? "") === value) === (operator !== "!=");
}
