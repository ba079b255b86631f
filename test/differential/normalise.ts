/** Normalisation of values that may differ between servers, such as times and UIDs. Everything else must be equal. */
export interface Rules {
  /** The server's address, which occurs in messages. */
  readonly url: string;
  /** Whether `managedFields` are compared. */
  readonly managedFields: boolean;
}

/** Kubernetes' random suffixes contain no vowels and no similar digits. */
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

/** Entries of discovery are compared by name, because their order varies and one server serves more than the other. */
function keyInDiscovery(key: string, parent: Readonly<Record<string, unknown>>): NameOf | undefined {
  if (key === "resources" && parent["kind"] === "APIResourceList") return named("name");
  if (key === "groups" && parent["kind"] === "APIGroupList") return named("name");
  if (key === "items" && parent["kind"] === "APIGroupDiscoveryList") return named("metadata", "name");
  if (key === "resources" && "freshness" in parent) return named("resource");
  return key === "subresources" && "resource" in parent ? named("subresource") : undefined;
}

/** A cell of a table may be or contain an age. */
function normaliseCell(cell: unknown, rules: Rules): unknown {
  return typeof cell === "string" ? normaliseTable(normaliseText(cell, rules)) : cell;
}

/** A periodic bookmark, which is sent at any time. Bookmarks that end the initial events are compared. */
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
  // kubectl's log lines: time, process, source location
  [/^[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ([\w.]+):\d+\]/gm, "<log> $1]"],
  // kubectl diff passes two folders to diff(1)
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

/** Removes ages, and the column widths that depend on them. */
export function normaliseTable(text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const aged = line.replace(/(?<=\s|^|\()(?:\d+[smhd]){1,2}(?=\s|$|\))/g, "<age>");
      return aged.replace(/(?<=\S) {2,}/g, "  ").trimEnd();
    })
    .join("\n");
}

/** The lines as a set. */
export function eachLine(text: string): unknown {
  return Object.fromEntries(text.split("\n").map((line) => [line, true]));
}
