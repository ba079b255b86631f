/** Images with the objects that use them. Pure. */
import type { Sandbox, SandboxTemplate } from "@agent-sandbox/api";
import { cleanText } from "../components/clean-text.ts";
import type { MachineImage } from "./images.ts";

export interface ImageRow {
  /** Identifies the row. Images without a namespace have the same shape as objects, so that lists can show them. */
  readonly metadata: { readonly name: string };
  /** The name to use in a Pod. */
  readonly name: string;
  /** All names and digests. */
  readonly names: readonly string[];
  readonly sizeBytes: number | undefined;
  /** The nodes that have it. Empty: none, or it is not known. */
  readonly nodes: readonly string[];
  readonly sandboxes: readonly Sandbox[];
  readonly templates: readonly SandboxTemplate[];
}

type Spec = Pick<Sandbox["spec"], "podTemplate">;

export function imagesIn({ podTemplate }: Spec): string[] {
  const spec = podTemplate?.spec;
  return [
    ...new Set(
      [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].flatMap(({ image }) => (image ? [image] : [])),
    ),
  ];
}

/** Names of the same image on several nodes are one row. Images that are only named in specs follow without a size. */
export function imageRows(
  known: readonly MachineImage[],
  sandboxes: readonly Sandbox[],
  templates: readonly SandboxTemplate[],
): ImageRow[] {
  const rows = new Map<string, { names: Set<string>; sizeBytes: number | undefined; nodes: Set<string> }>();
  for (const { names, sizeBytes, node } of known) {
    const name = shownName(names);
    const row = rows.get(name) ?? { names: new Set(), sizeBytes, nodes: new Set() };
    for (const one of names) row.names.add(one);
    row.nodes.add(node);
    rows.set(name, row);
  }
  const rowOf = new Map(
    [...rows].flatMap(([row, { names }]) => [...names].map((name) => [familiar(name), row] as const)),
  );
  const users = { sandboxes: usersOf(sandboxes, rowOf), templates: usersOf(templates, rowOf) };
  for (const name of [...users.sandboxes.keys(), ...users.templates.keys()]) {
    if (!rows.has(name)) rows.set(name, { names: new Set([name]), sizeBytes: undefined, nodes: new Set() });
  }
  return [...rows].map(([name, { names, sizeBytes, nodes }]) => ({
    metadata: { name },
    name,
    names: [...names],
    sizeBytes,
    nodes: [...nodes],
    sandboxes: users.sandboxes.get(name) ?? [],
    templates: users.templates.get(name) ?? [],
  }));
}

/** Objects by the row of their images. An image that no node reports is a row of its own. */
function usersOf<T extends { spec: Spec }>(
  objects: readonly T[],
  rowOf: ReadonlyMap<string, string>,
): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const object of objects) {
    for (const image of imagesIn(object.spec)) {
      const row = rowOf.get(familiar(image)) ?? image;
      found.set(row, [...(found.get(row) ?? []), object]);
    }
  }
  return found;
}

/** A name with a tag, if there is one. */
function shownName(names: readonly string[]): string {
  return names.find((name) => !name.includes("@") && !name.startsWith("sha256:")) ?? names[0] ?? "";
}

/** Docker Hub's default registry, folder and tag are left out, so that `python` is `docker.io/library/python:latest`. */
function familiar(name: string): string {
  return cleanText(name)
    .replace(/^docker\.io\//, "")
    .replace(/^library\//, "")
    .replace(/:latest$/, "");
}
