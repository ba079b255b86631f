import { builtinKinds, definitionNameOf } from "../src/resources/builtin-kinds.ts";

const kinds = builtinKinds.flatMap(({ kind, apiVersions = ["v1"] }) =>
  apiVersions.map((apiVersion) => ({ apiVersion, name: definitionNameOf(apiVersion, kind) })),
);

/** Types of requests and responses that are not kinds of their own. */
const common = ["Status", "DeleteOptions", "ListMeta", "ObjectMeta"].map(
  (name) => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`,
);

/** The definitions of the built-in kinds that the server serves. */
export const servedDefinitions: readonly string[] = [
  ...kinds.map(({ name }) => name),
  "io.k8s.api.autoscaling.v1.Scale",
  ...common,
];

/** The group versions whose published documents contain them. */
export const servedVersions: readonly string[] = [
  ...new Set(kinds.map(({ apiVersion }) => apiVersion)),
  "autoscaling/v1",
];
