/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** One rule of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  /** A CEL expression for the message. If it fails, `message` is used. */
  readonly messageExpression?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  /** Relative path of the field that the error refers to, such as `.replicas`. */
  readonly fieldPath?: string;
  /** Evaluate a transition rule also without an old value. `oldSelf` is then an empty optional. */
  readonly optionalOldSelf?: boolean;
}

/** The subset of JSON schema in `allOf`, `anyOf`, `oneOf` and `not`, which only validates and adds no fields. */
export interface ValueSchema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly Json[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: ValueSchema };
  readonly additionalProperties?: boolean | ValueSchema;
  readonly items?: ValueSchema;
  readonly allOf?: readonly ValueSchema[];
  readonly anyOf?: readonly ValueSchema[];
  readonly oneOf?: readonly ValueSchema[];
  readonly not?: ValueSchema;
}

/** The schema of a custom resource: `openAPIV3Schema` of a CustomResourceDefinition. */
export interface StructuralSchema extends ValueSchema {
  /** Human-readable. */
  readonly description?: string;
  readonly default?: Json;
  readonly properties?: { readonly [name: string]: StructuralSchema };
  readonly additionalProperties?: boolean | StructuralSchema;
  readonly items?: StructuralSchema;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}
