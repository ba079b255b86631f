import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { labelValueProblems, qualifiedNameProblems } from "../resources/names.ts";

type Strings = { readonly [key: string]: string };

/** The original metadata with the labels and annotations of the converted object, or an error message about those. */
export function restoredMetadata({ metadata }: ApiObject, converted: unknown): ApiObject["metadata"] | string {
  if (converted === undefined) return "missing metadata in converted object";
  if (!isJsonObject(converted)) return "invalid metadata in converted object";
  const { labels, annotations } = converted;
  const problem = mapProblem("labels", labels) ?? mapProblem("annotations", annotations);
  if (problem !== undefined) return problem;
  const { labels: oldLabels, annotations: oldAnnotations, ...rest } = metadata;
  const problems = [...labelProblems(labels, oldLabels), ...annotationProblems(annotations, oldAnnotations)];
  if (problems.length > 0) return problems.length === 1 ? (problems[0] as string) : `[${problems.join(", ")}]`;
  return {
    ...rest,
    ...(isJsonObject(labels) ? { labels: labels as Strings } : {}),
    ...(isJsonObject(annotations) ? { annotations: annotations as Strings } : {}),
  };
}

function mapProblem(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) return `invalid metadata.${name} in converted object`;
  const wrong = Object.keys(value).find((key) => typeof value[key] !== "string");
  return wrong === undefined ? undefined : `metadata.${name}[${wrong}] must be a string in converted object`;
}

/** Whether the webhook left an already missing value as it was. */
const isUntouched = (given: unknown, old: unknown): given is undefined | null =>
  !isJsonObject(given) || equalJson(given, old ?? {});

function labelProblems(given: unknown, old: unknown): string[] {
  if (isUntouched(given, old)) return [];
  return Object.entries(given as JsonObject).flatMap(([key, value]) => [
    ...qualifiedNameProblems(key).map((why) => invalidText("metadata.labels", key, why)),
    ...labelValueProblems(String(value)).map((why) => invalidText("metadata.labels", String(value), why)),
  ]);
}

function annotationProblems(given: unknown, old: unknown): string[] {
  if (isUntouched(given, old)) return [];
  return Object.keys(given as JsonObject).flatMap((key) =>
    qualifiedNameProblems(key.toLowerCase()).map((why) => invalidText("metadata.annotation", key, why)),
  );
}

const invalidText = (field: string, value: string, why: string): string =>
  `${field}: Invalid value: ${JSON.stringify(value)}: ${why}`;
