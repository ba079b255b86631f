/** What two servers may answer differently without a client noticing, made equal. Everything else must be the same. */
export interface Rules {
  /** The server's own address, which shows in messages. */
  readonly url: string;
  /** Whether who owns which field is compared. */
  readonly managedFields: boolean;
}

/** Of Kubernetes' own random suffixes: no vowels, no digits that look like them. */
const suffix = /(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}$/;
const hourMs = 3_600_000;

export function normaliseJson(value: unknown, rules: Rules): unknown {
  if (typeof value === "string") return normaliseText(value, rules);
  if (Array.isArray(value))
    return value.filter((each) => !isPlainBookmark(each)).map((each) => normaliseJson(each, rules));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as Record<string, unknown>).flatMap(([key, each]) => {
    if (key === "managedFields" && !rules.managedFields) return [];
    return [[key, normaliseField(key, each, { parent: value as Record<string, unknown>, rules })]];
  });
  return Object.fromEntries(entries) as unknown;
}

interface Place {
  readonly parent: Readonly<Record<string, unknown>>;
  readonly rules: Rules;
}

function normaliseField(key: string, value: unknown, { parent, rules }: Place): unknown {
  if (Array.isArray(value)) {
    const nameOf = keyInDiscovery(key, parent);
    if (nameOf !== undefined)
      return normaliseJson(Object.fromEntries(value.map((each) => [nameOf(each), each])), rules);
    const isListOfVerbs = key === "verbs" && ("singularName" in parent || "responseKind" in parent);
    if (isListOfVerbs) return value.map(String).sort(byText);
  }
  if (key === "cells" && Array.isArray(value)) return value.map((cell) => normaliseCell(cell, rules));
  if (typeof value === "number") return key === "nodePort" ? "<node port>" : value;
  if (typeof value !== "string" || value === "") return normaliseJson(value, rules);
  if (key === "resourceVersion" && /^\d+$/.test(value)) return "<revision>";
  if (key === "continue") return "<continue>";
  const isMadeUp = key === "name" && typeof parent["generateName"] === "string";
  if (isMadeUp || key === "kubernetes.io/metadata.name") return value.replace(suffix, "<suffix>");
  return normaliseText(value, rules);
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1);

type NameOf = (item: unknown) => string;
const named =
  (...path: readonly string[]): NameOf =>
  (item) =>
    String(path.reduce((at, key) => (at as Readonly<Record<string, unknown>>)[key], item));

/** Discovery lists things as they come, and one server serves more than the other: each is compared by its name. */
function keyInDiscovery(key: string, parent: Readonly<Record<string, unknown>>): NameOf | undefined {
  if (key === "resources" && parent["kind"] === "APIResourceList") return named("name");
  if (key === "groups" && parent["kind"] === "APIGroupList") return named("name");
  if (key === "items" && parent["kind"] === "APIGroupDiscoveryList") return named("metadata", "name");
  if (key === "resources" && "freshness" in parent) return named("resource");
  return key === "subresources" && "resource" in parent ? named("subresource") : undefined;
}

/** A cell of a table may be an age, or a text with one in it. */
function normaliseCell(cell: unknown, rules: Rules): unknown {
  return typeof cell === "string" ? normaliseTable(normaliseText(cell, rules)) : cell;
}

/** Sent when the server finds time for it; those that end the initial events are sent when they are due. */
function isPlainBookmark(value: unknown): boolean {
  const { type, object } = (value ?? {}) as { type?: string; object?: { metadata?: { annotations?: object } } };
  return type === "BOOKMARK" && object?.metadata?.annotations === undefined;
}

const replacements: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uid>"],
  [/(resourceVersion: )"\d+"/g, '$1"<revision>"'],
  [/(Resource Version: +)\d+/g, "$1<revision>"],
  [/(ResourceVersion in object meta: )\d+/g, "$1<revision>"],
  [/(ResourceVersion in record \()\d+/g, "$1<revision>"],
  [/X509SHA256=[0-9a-f]{64}/g, "X509SHA256=<certificate>"],
  [/(current: )\d+/g, "$1<revision>"],
  [/\b10\.\d+\.\d+\.\d+\b/g, "<cluster ip>"],
  [/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "<time>"],
  [/(\b\d+:)3\d{4}(?=\/(?:TCP|UDP|SCTP))/g, "$1<node port>"],
  [/(NodePort: .*)\b3\d{4}(?=\/)/g, "$1<node port>"],
  // kubectl's own log lines: when, which process, where in its source
  [/^[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ([\w.]+):\d+\]/gm, "<log> $1]"],
  // kubectl diff hands two folders to diff(1)
  [/\/tmp\/(LIVE|MERGED)-\d+/g, "/tmp/$1"],
  [/\/tmp\/kubectl-edit-[\w.-]+/g, "/tmp/kubectl-edit"],
  [/^((?:---|\+\+\+) \S+\t).*$/gm, "$1<time>"],
];

export function normaliseText(text: string, { url }: Rules): string {
  let result = text.replaceAll(url, "<server>").replaceAll(url.replace("https://", ""), "<address>");
  for (const [pattern, replacement] of replacements) result = result.replace(pattern, replacement);
  return result.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time, fraction?: string) =>
    Math.abs(Date.parse(time) - Date.now()) > hourMs ? time : fraction === undefined ? "<time>" : "<micro time>",
  );
}

/** Ages depend on when the command ran, and widths of columns on ages. */
export function normaliseTable(text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const aged = line.replace(/(?<=\s|^|\()(?:\d+[smhd]){1,2}(?=\s|$|\))/g, "<age>");
      return aged.replace(/(?<=\S) {2,}/g, "  ").trimEnd();
    })
    .join("\n");
}

/** Every line by itself, whatever its place. */
export function eachLine(text: string): unknown {
  return Object.fromEntries(text.split("\n").map((line) => [line, true]));
}
