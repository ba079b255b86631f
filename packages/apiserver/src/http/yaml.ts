import { isScalar, parseDocument, type ScalarTag, stringify, type Tags, visit, type YAMLMap } from "yaml";
import { ApiError, badRequest } from "../api-error.ts";
import { bodyError, copyJson } from "../json.ts";

/**
 * Parsing and writing YAML takes a hundred times as long as JSON and blocks the event loop. Clients with large objects use
 * JSON, as kubectl always does.
 */
export const maxYamlLength: number = 128 * 1024;
export const maxWrittenYamlLength: number = 1024 * 1024;

/** Parses YAML as Kubernetes does. The expansion of aliases is bounded. */
export function parseYaml(text: string): unknown {
  if (text.length > maxYamlLength) {
    const why = `Request entity is too large: limit is ${maxYamlLength} bytes of YAML; send JSON`;
    throw new ApiError("RequestEntityTooLarge", why);
  }
  const document = parseDocument(text, {
    schema: "yaml-1.1",
    customTags: kubernetesTags,
    merge: true,
    logLevel: "error",
    // The library's check compares each key with all others, which takes seconds for ten thousand keys.
    uniqueKeys: false,
    // Computing the position of every error is slow, too.
    prettyErrors: false,
  });
  const [problem] = document.errors;
  if (problem !== undefined)
    throw badRequest(`Cannot read the body: ${problem.message} at ${placeOf(text, problem.pos[0])}`);
  visit(document, { Map: (_, map) => refuseRepeatedKeys(map) });
  const copied = copyJson(valueOf(document));
  if ("problem" in copied) throw bodyError(copied.problem);
  return copied.value;
}

function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return `line ${before.split("\n").length}, column ${offset - start + 1}`;
}

function refuseRepeatedKeys(map: YAMLMap): void {
  const seen = new Set<string>();
  for (const { key } of map.items) {
    const name = isScalar(key) ? String(key.value) : undefined;
    if (name === undefined || name === "<<") continue;
    if (seen.has(name)) throw badRequest(`Cannot read the body: Map keys must be unique: ${JSON.stringify(name)}`);
    seen.add(name);
  }
}

function valueOf(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw badRequest(`Cannot read the body: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const newOctal: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?0o[0-7]{1,17}$/,
  resolve: (text) => Number.parseInt(text.replace("0o", ""), 8),
};

/** YAML 1.1 (`0644` is octal, `yes` is true) with YAML 1.2's `0o644`. Dates and `1:30` stay strings. */
function kubernetesTags(tags: Tags): Tags {
  const isTime = (tag: Tags[number]): boolean =>
    typeof tag !== "string" &&
    (tag.tag === "tag:yaml.org,2002:timestamp" || ("format" in tag && tag.format === "TIME"));
  return [newOctal, ...tags.filter((tag) => !isTime(tag))];
}

/** Quotes strings so that parsers of YAML 1.1 and 1.2 read the same values. */
export function toYaml(value: unknown): string {
  return stringify(value, {
    schema: "yaml-1.1",
    customTags: (tags) => [newOctal, ...tags],
    aliasDuplicateObjects: false,
    lineWidth: 0,
  });
}
