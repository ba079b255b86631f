/** Which packages each package may import, as in docs/architecture.md. `types` allows `import type` only. */
export type Permission = "values" | "types";

export const mayImport: Readonly<Record<string, Readonly<Record<string, Permission>>>> = {
  api: {},
  kube: { api: "types" },
  controllers: { api: "values", kube: "values" },
  apiserver: { api: "values", kube: "types" },
  node: { api: "values", kube: "values" },
  router: { api: "values", kube: "values" },
  cli: {
    api: "values",
    kube: "values",
    controllers: "values",
    apiserver: "values",
    node: "values",
    router: "values",
  },
};
