import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceVersion,
  PrinterColumn,
  ScaleSubresource,
  StructuralSchema,
} from "@agent-sandbox/api";
import type * as z from "zod";

/** One version of a kind: the parts that differ between kinds. */
export interface VersionDescription {
  readonly name: string;
  readonly spec: z.ZodType;
  /** Absent: the kind has no status. */
  readonly status?: z.ZodType;
  readonly scale?: boolean;
  readonly columns?: readonly PrinterColumn[];
}

export interface KindDescription {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  /** Whether clusters get its definition from elsewhere. It is then not in `deploy/crds`. */
  readonly isForeign?: boolean;
  /** The purpose of the kind, in one sentence. */
  readonly description: string;
  /** The first is stored. The others are deprecated, and converted by the webhook. */
  readonly versions: readonly [VersionDescription, ...VersionDescription[]];
}

const scale: ScaleSubresource = {
  labelSelectorPath: ".status.selector",
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
};

/** When the manager starts, it sets the certificate, and the name of its Service if that differs. */
const conversion: CustomResourceConversion = {
  strategy: "Webhook",
  webhook: {
    clientConfig: {
      service: { name: "agent-sandbox-webhook-service", namespace: "agent-sandbox-system", path: "/convert" },
    },
    conversionReviewVersions: ["v1", "v1beta1"],
  },
};

const observed = "What has been observed. Controllers write it, users read it.";

export function customResourceDefinition(
  kind: KindDescription,
  schemaOf: (schema: z.ZodType) => StructuralSchema,
): CustomResourceDefinition {
  const [stored, ...others] = kind.versions;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      ...(others.length === 0 ? {} : { conversion }),
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        shortNames: [kind.shortName],
        singular: kind.kind.toLowerCase(),
      },
      scope: "Namespaced",
      versions: [
        { ...version(stored, kind, schemaOf), storage: true },
        ...others.map((other) => ({
          ...version(other, kind, schemaOf),
          ...deprecation(other, kind),
          storage: false,
        })),
      ],
    },
  };
}

function version(
  { name, spec, status, columns, scale: scaled }: VersionDescription,
  kind: KindDescription,
  schemaOf: (schema: z.ZodType) => StructuralSchema,
): Omit<CustomResourceVersion, "storage"> {
  const subresources = { ...(scaled ? { scale } : {}), ...(status ? { status: {} } : {}) };
  return {
    ...(columns ? { additionalPrinterColumns: columns } : {}),
    name,
    schema: {
      openAPIV3Schema: {
        description: kind.description,
        // The API server adds the descriptions of the first three.
        properties: {
          apiVersion: { type: "string" },
          kind: { type: "string" },
          metadata: { type: "object" },
          spec: { ...schemaOf(spec), description: "What is wanted." },
          ...(status ? { status: { ...schemaOf(status), description: observed } } : {}),
        },
        required: ["spec"],
        type: "object",
      },
    },
    served: true,
    ...(status || scaled ? { subresources } : {}),
  };
}

function deprecation(
  { name }: VersionDescription,
  { group, kind, versions: [stored] }: KindDescription,
): { deprecated: true; deprecationWarning: string } {
  return {
    deprecated: true,
    deprecationWarning: `${group}/${name} ${kind} is deprecated; use ${group}/${stored.name} ${kind} instead`,
  };
}
