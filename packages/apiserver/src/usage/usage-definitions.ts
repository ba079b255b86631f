import type { Measured, ResourceDefinition, Schema } from "../resources/definition.ts";
import { text } from "../table/column.ts";
import { cpuCell, measuredNodes, measuredPods, memoryCell, windowCell } from "./measured-objects.ts";

export const metricsGroup = "metrics.k8s.io";

const label: Schema = { type: "string" };
const usage: Schema = { type: "object", additionalProperties: { type: "string" } };
const object = (properties: Record<string, Schema>): Schema => ({ type: "object", properties });
const measuredAt = { timestamp: { type: "string", format: "date-time" }, window: label } as const;

const common = {
  shortNames: [],
  categories: [],
  nameRule: "subdomain",
  typed: false,
  hasGeneration: false,
  unconditionalUpdate: false,
  createsOnUpdate: false,
  deletesCollections: false,
  returnsDeleted: false,
  statusTakesMetadata: false,
  finalizerRule: "any",
  strategy: {},
} as const;

interface UsageKind {
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly schema: Schema;
  readonly measured: Measured;
}

const kinds: readonly UsageKind[] = [
  {
    kind: "NodeMetrics",
    plural: "nodes",
    namespaced: false,
    schema: object({ ...measuredAt, usage }),
    measured: measuredNodes,
  },
  {
    kind: "PodMetrics",
    plural: "pods",
    namespaced: true,
    schema: object({ ...measuredAt, containers: { type: "array", items: object({ name: label, usage }) } }),
    measured: measuredPods,
  },
];

/** The kinds of `kubectl top`. They are measured for each request and never stored. */
export const usageDefinitions: readonly ResourceDefinition[] = kinds.map(({ kind, schema, ...rest }) => {
  const version = "v1beta1";
  const columns = [text("CPU", cpuCell), text("Memory", memoryCell), text("Window", windowCell)];
  const versions = [
    { group: metricsGroup, version, apiVersion: `${metricsGroup}/${version}`, schema, hasStatus: false, columns },
  ] as const;
  return { ...common, ...rest, id: `${rest.plural}.${metricsGroup}`, kind, singular: kind.toLowerCase(), versions };
});
