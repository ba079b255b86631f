/** The object as text, and the patch that an edit of it means. Pure. */
import type { Sandbox } from "@agent-sandbox/api";
import { parse, stringify } from "yaml";
import { cleanLines } from "../../components/clean-text.ts";

const mostCharacters = 1_000_000;
const serverFields: readonly string[] = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "managedFields",
  "selfLink",
];
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** What a person edits; with `isComplete` also what only the server writes. */
export function yamlOf(sandbox: Sandbox, isComplete: boolean): string {
  if (isComplete) return stringify(sandbox, { lineWidth: 0 });
  return stringify(editable(sandbox), { lineWidth: 0 });
}

/** Why it cannot be edited as text; undefined if it can. A text field shows no hidden characters: applying would change them too. */
export function whyLocked(sandbox: Sandbox): string | undefined {
  const text = yamlOf(sandbox, false);
  if (cleanLines(text) === text) return undefined;
  return "It has characters that are hidden or change how text looks: use kubectl to edit it";
}

function editable({ apiVersion, kind, metadata, spec }: Sandbox): object {
  const { annotations = {}, ...rest } = metadata;
  const kept = Object.fromEntries(Object.entries(rest).filter(([key]) => !serverFields.includes(key)));
  const { [lastApplied]: _, ...shown } = annotations;
  return {
    apiVersion,
    kind,
    metadata: { ...kept, ...(Object.keys(shown).length > 0 && { annotations: shown }) },
    spec,
  };
}

export interface Edited {
  /** A merge patch that is refused if the object has changed since the edit began. */
  readonly patch: object;
}

/** Throws if the text is not YAML, or is another object. */
export function readEdit(text: string, base: Sandbox): Edited {
  if (text.length > mostCharacters) throw new Error("The text has more than 1,000,000 characters");
  let wanted: unknown;
  try {
    // Aliases can make a small text a huge object.
    wanted = parse(text, { maxAliasCount: 0 });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(`The text is not valid YAML: ${problem}`, { cause: error });
  }
  if (!isRecord(wanted)) throw new Error("The text is not an object");
  const before = editable(base) as Record<string, unknown>;
  for (const field of ["apiVersion", "kind"]) {
    if (wanted[field] !== before[field]) throw new Error(`${field} cannot be changed`);
  }
  const metadata = isRecord(wanted["metadata"]) ? wanted["metadata"] : {};
  for (const field of ["name", "namespace"] as const) {
    if (metadata[field] !== base.metadata[field]) throw new Error(`metadata.${field} cannot be changed`);
  }
  const { status: _status, ...rest } = wanted;
  const patch = (mergePatch(before, rest) ?? {}) as Record<string, unknown>;
  const { resourceVersion, uid } = base.metadata;
  const changed = isRecord(patch["metadata"]) ? patch["metadata"] : {};
  return { patch: { ...patch, metadata: { ...changed, resourceVersion, uid } } };
}

/** RFC 7396. Undefined: nothing differs. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after)) return isEqual(before, after) ? undefined : after;
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(before)) if (!(key in after)) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    const change = key in before ? mergePatch(before[key], value) : value;
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
