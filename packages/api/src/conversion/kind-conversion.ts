import type { JsonObject } from "../primitives/deep-equal.ts";
import type { PartFields } from "./fields.ts";

/** What conversion works on: an object without its type and metadata. */
export interface Content {
  readonly spec: JsonObject;
  readonly status?: JsonObject;
}

/**
 * How one kind differs between v1alpha1 and v1beta1. Fields of the same name are copied, and those that only v1beta1 has
 * are kept in an annotation of the v1alpha1 object, both by reading the schemas; only what is said differently is here.
 */
export interface KindConversion {
  readonly group: string;
  readonly kind: string;
  readonly fields: { readonly spec: PartFields; readonly status: PartFields };
  /** On v1beta1 objects: what v1alpha1 said that v1beta1 cannot. */
  readonly v1alpha1State: string;
  /** On v1alpha1 objects: the fields that only v1beta1 has. */
  readonly v1beta1State: string;
  /** The spec fields of v1beta1 that v1alpha1 says in other words. */
  upSpec(alpha: Content, name: string): JsonObject;
  /** The spec fields of v1alpha1 that v1beta1 says in other words. `saved` is the state annotation, if it is read. */
  downSpec(beta: Content, saved: JsonObject | undefined): JsonObject;
  /** The status fields of v1alpha1 that are computed. */
  downStatus?(beta: Content): JsonObject;
  /** What the state annotation of the v1beta1 object has to say: a partial v1alpha1 object. Absent: it is not read either. */
  saveAlpha?(alpha: Content, betaSpec: JsonObject): JsonObject | undefined;
  /** The v1beta1 field that a visible v1alpha1 field stands for. */
  readonly derived?: DerivedField;
  /** v1beta1 spec fields that have an annotation of their own on v1alpha1 objects. */
  readonly ownAnnotations?: Readonly<Record<string, string>>;
}

/** A saved value of such a field is used only as long as the v1alpha1 fields it was shown as have not been edited. */
export interface DerivedField {
  readonly field: string;
  /** The v1alpha1 spec fields that show it. */
  shownAs(alphaSpec: JsonObject): JsonObject;
  /** Whether those alone do not lead back to the value in v1beta1. */
  mustSave(betaSpec: JsonObject, alphaSpec: JsonObject): boolean;
}
