/** Which packages each package may import, as in docs/architecture.md. `types` allows `import type` only. */
export type Permission = "values" | "types";
export type ImportTable = Readonly<Record<string, Readonly<Record<string, Permission>>>>;

/** It holds for `src/` and for the generators in `generate/`. */
export const mayImport: ImportTable = {
  api: {},
  kube: { api: "types" },
  controllers: { api: "values", kube: "values" },
  apiserver: { api: "values", kube: "types" },
  node: { api: "values", kube: "values" },
  router: { api: "values", kube: "values" },
  compat: { api: "values", kube: "values" },
  sdk: { kube: "values" },
  dashboard: { api: "values", kube: "values", sdk: "values" },
  mcp: { api: "values", kube: "values", sdk: "values" },
  cli: {
    api: "values",
    kube: "values",
    controllers: "values",
    apiserver: "values",
    node: "values",
    router: "values",
    compat: "values",
    dashboard: "values",
    sdk: "values",
    mcp: "values",
  },
};

/** The folders of a package's `src/` from the lowest to the highest layer. A folder may import only lower ones. */
export const folderLayers: Readonly<Record<string, readonly string[]>> = {
  kube: ["limits", "queue", "client", "kubeconfig", "watch", "cache", "election", "events", "runner", "testing"],
};
