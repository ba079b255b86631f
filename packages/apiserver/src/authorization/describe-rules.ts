import type { SingleRule } from "./covers.ts";

/** The maximum number of lines in a message. */
const maxLines = 100;

const quoted = (list: readonly string[]): string => `[${list.map((each) => JSON.stringify(each)).join(" ")}]`;

/** Formats permissions as Kubernetes does in its error message: one line for each resource. */
export function describeRules(singles: readonly SingleRule[]): string {
  const byResource = new Map<string, string[]>();
  const lines = new Set<string>();
  for (const single of singles) {
    if ("url" in single) {
      lines.add(`{NonResourceURLs:${quoted([single.url])}, Verbs:${quoted([single.verb])}}`);
      continue;
    }
    const { group, resource, resourceName, verb } = single;
    const names = resourceName === undefined ? "" : `, ResourceNames:${quoted([resourceName])}`;
    const key = `APIGroups:${quoted([group])}, Resources:${quoted([resource])}${names}`;
    byResource.set(key, [...(byResource.get(key) ?? []), verb]);
  }
  for (const [key, verbs] of byResource) lines.add(`{${key}, Verbs:${quoted(verbs)}}`);
  const sorted = [...lines].sort();
  const rest = sorted.length > maxLines ? [`and ${sorted.length - maxLines} more`] : [];
  return [...sorted.slice(0, maxLines), ...rest].join("\n");
}
