import { Fields } from "./fields.ts";

/** The merged files of `KUBECONFIG`: the first file that sets a value or defines an entry wins. */
export interface Kubeconfig {
  /** For error messages. */
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, Fields>;
  readonly users: ReadonlyMap<string, Fields>;
  readonly contexts: ReadonlyMap<string, Fields>;
}

export async function mergeFiles(
  texts: readonly { readonly file: string; readonly text: string }[],
): Promise<Kubeconfig> {
  const roots = await Promise.all(texts.map(({ file, text }) => Fields.parse(file, text)));
  for (const root of roots) checkKind(root);
  return {
    files: roots.map(({ file }) => file),
    currentContext: roots.map((root) => root.text("current-context")).find((context) => context !== undefined),
    clusters: entries(roots, "clusters", "cluster"),
    users: entries(roots, "users", "user"),
    contexts: entries(roots, "contexts", "context"),
  };
}

function checkKind(root: Fields): void {
  const kind = root.text("kind");
  if (kind !== undefined && kind !== "Config") throw root.problem("kind", `is "${kind}", a kubeconfig is a Config`);
}

function entries(roots: readonly Fields[], list: string, field: string): Map<string, Fields> {
  const found = new Map<string, Fields>();
  for (const entry of roots.flatMap((root) => root.children(list))) {
    const name = entry.text("name");
    if (name === undefined) throw entry.problem("name", "is missing");
    if (found.has(name)) continue;
    const content = entry.child(field);
    if (content === undefined) throw entry.problem(field, `is missing (of "${name}")`);
    found.set(name, content);
  }
  return found;
}
