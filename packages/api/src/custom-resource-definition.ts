import type { ObjectMeta } from "./kubernetes.ts";
import type { StructuralSchema } from "./schema/structural-schema.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

export interface ScaleSubresource {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface CustomResourceVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: StructuralSchema };
  readonly subresources?: { readonly status?: object; readonly scale?: ScaleSubresource };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
}

export interface CustomResourceNames {
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface CustomResourceConversion {
  readonly strategy: "None" | "Webhook";
  readonly webhook?: {
    readonly conversionReviewVersions: readonly string[];
    readonly clientConfig?: {
      readonly url?: string;
      readonly caBundle?: string;
      readonly service?: {
        readonly name: string;
        readonly namespace: string;
        readonly path?: string;
        readonly port?: number;
      };
    };
  };
}

/** An `apiextensions.k8s.io/v1` CustomResourceDefinition, with only the fields that we read. */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: CustomResourceNames;
    readonly versions: readonly CustomResourceVersion[];
    readonly conversion?: CustomResourceConversion;
    readonly preserveUnknownFields?: boolean;
  };
}
