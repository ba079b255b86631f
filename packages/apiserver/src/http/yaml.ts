import { parseDocument, type ScalarTag, stringify, type Tags } from "yaml";
import { badRequest } from "../api-error.ts";
import { bodyError, copyJson } from "../json.ts";

/** Reads YAML as Kubernetes does. Aliases may not be used to make much out of little. */
export function parseYaml(text: string): unknown {
  const document = parseDocument(text, {
    schema: "yaml-1.1",
    customTags: kubernetesTags,
    merge: true,
    logLevel: "error",
  });
  const [problem] = document.errors;
  if (problem !== undefined) throw badRequest(`Cannot read the body: ${problem.message}`);
  const copied = copyJson(valueOf(document));
  if ("problem" in copied) throw bodyError(copied.problem);
  return copied.value;
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

/** YAML 1.1 (`0644` is octal, `yes` is true) with YAML 1.2's `0o644`; dates and `1:30` stay text. */
function kubernetesTags(tags: Tags): Tags {
  const isTime = (tag: Tags[number]): boolean =>
    typeof tag !== "string" &&
    (tag.tag === "tag:yaml.org,2002:timestamp" || ("format" in tag && tag.format === "TIME"));
  return [newOctal, ...tags.filter((tag) => !isTime(tag))];
}

/** Quoted so that readers of YAML 1.1 and 1.2 find the same values in it. */
export function toYaml(value: unknown): string {
  return stringify(value, {
    schema: "yaml-1.1",
    customTags: (tags) => [newOctal, ...tags],
    aliasDuplicateObjects: false,
    lineWidth: 0,
  });
}
