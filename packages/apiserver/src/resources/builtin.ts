import type { ApiObject } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import { builtinColumns } from "../table/builtin-columns.ts";
import { type BuiltinKind, builtinKinds, definitionNameOf, groupOf, versionOf } from "./builtin-kinds.ts";
import { builtinSchema } from "./builtin-schema.ts";
import { builtinStrategies } from "./builtin-strategies.ts";
import type { ResourceDefinition, ServedVersion, Strategy } from "./definition.ts";
import { defaulted } from "./schema.ts";

/** Kubernetes' own kinds that the server serves. */
export function builtinDefinitions(interner: Interner): ResourceDefinition[] {
  const strategies = builtinStrategies(interner);
  return builtinKinds.map((builtin) => define(builtin, strategies[builtin.plural] ?? {}));
}

function define(builtin: BuiltinKind, strategy: Strategy): ResourceDefinition {
  const { plural, kind, apiVersions = ["v1"] } = builtin;
  const [storage, ...others] = apiVersions.map((apiVersion) => servedVersion(builtin, apiVersion));
  return {
    id: plural,
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: builtin.shortNames ?? [],
    categories: builtin.categories ?? [],
    namespaced: builtin.namespaced ?? true,
    versions: [storage as ServedVersion, ...others],
    nameRule: builtin.nameRule ?? "subdomain",
    typed: true,
    hasGeneration: builtin.hasGeneration ?? false,
    unconditionalUpdate: builtin.needsRevision !== true,
    createsOnUpdate: builtin.createsOnUpdate ?? false,
    deletesCollections: builtin.deletesCollections ?? true,
    returnsDeleted: builtin.returnsDeleted ?? false,
    statusTakesMetadata: plural !== "customresourcedefinitions",
    finalizerRule: builtin.finalizerRule ?? "standard",
    strategy: withStatus(strategy, storage as ServedVersion),
  };
}

/** Adds the empty status that kinds with a status have from their creation. */
function withStatus(strategy: Strategy, version: ServedVersion): Strategy {
  if (!version.hasStatus) return strategy;
  let empty: ApiObject | undefined;
  const setDefaults = (object: ApiObject): ApiObject => {
    const own = strategy.setDefaults?.(object) ?? object;
    if (own["status"] !== undefined) return own;
    empty ??= defaulted({ apiVersion: own.apiVersion, kind: own.kind, metadata: {} }, version.schema);
    const status = empty["status"];
    return status === undefined ? own : { ...own, status };
  };
  return { ...strategy, setDefaults };
}

function servedVersion(builtin: BuiltinKind, apiVersion: string): ServedVersion {
  const { plural, kind, hasStatus = false, deprecationWarning } = builtin;
  const definition = definitionNameOf(apiVersion, kind);
  return {
    group: groupOf(apiVersion),
    version: versionOf(apiVersion),
    apiVersion,
    get schema() {
      return builtinSchema(definition);
    },
    hasStatus,
    deprecationWarning,
    columns: builtinColumns[plural] ?? [],
  };
}
