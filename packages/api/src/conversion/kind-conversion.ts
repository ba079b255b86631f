import type { JsonObject } from "../primitives/deep-equal.ts";
import type { PartFields } from "./fields.ts";

/** The part of an object that is converted: the object without its type and metadata. */
export interface Content {
  readonly spec: JsonObject;
  readonly status?: JsonObject;
}

/**
 * How one kind differs between v1alpha1 and v1beta1. The schemas already define which fields are copied (those of the same
 * name) and which are kept in an annotation of the v1alpha1 object (those that only v1beta1 has), so only the fields that
 * are expressed differently are listed here.
 */
export interface KindConversion {
  readonly group: string;
  readonly kind: string;
  readonly fields: { readonly spec: PartFields; readonly status: PartFields };
  /** The annotation of v1beta1 objects for the v1alpha1 state that v1beta1 cannot express. */
  readonly v1alpha1State: string;
  /** The annotation of v1alpha1 objects for the fields that only v1beta1 has. */
  readonly v1beta1State: string;
  /** The spec fields of v1beta1 that v1alpha1 expresses differently. */
  upSpec(alpha: Content, name: string): JsonObject;
  /** The spec fields of v1alpha1 that v1beta1 expresses differently. `saved` is the content of the state annotation. */
  downSpec(beta: Content, saved: JsonObject | undefined): JsonObject;
  /** The status fields of v1alpha1 that are computed. */
  downStatus?(beta: Content): JsonObject;
  /** The content of the v1beta1 object's state annotation: a partial v1alpha1 object. Absent: the annotation is not used. */
  saveAlpha?(alpha: Content, betaSpec: JsonObject): JsonObject | undefined;
  /** The v1beta1 field that v1alpha1 shows as other fields. */
  readonly derived?: DerivedField;
  /** The v1beta1 spec fields that have their own annotation on v1alpha1 objects. */
  readonly ownAnnotations?: Readonly<Record<string, string>>;
}

/** A saved value of such a field is used only if the v1alpha1 fields that show it were not edited. */
export interface DerivedField {
  readonly field: string;
  /** The v1alpha1 spec fields that show the value. */
  shownAs(alphaSpec: JsonObject): JsonObject;
  /** Whether the value must be saved, because it cannot be derived from those fields. */
  mustSave(betaSpec: JsonObject, alphaSpec: JsonObject): boolean;
}
