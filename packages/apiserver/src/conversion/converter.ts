import type { ApiObject } from "../api-object.ts";

/** Converts objects of one kind through a webhook. */
export interface Converter {
  /** Keeps the order. Throws `ApiError`. `isList`: the objects are the items of one list. */
  convert(objects: readonly ApiObject[], apiVersion: string, isList?: boolean): Promise<ApiObject[]>;
}
