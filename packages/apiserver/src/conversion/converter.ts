import type { ApiObject } from "../api-object.ts";

/** Converts objects of one kind when only someone else can: it takes time, and may fail. */
export interface Converter {
  /** In their order. Throws `ApiError`. `isList`: they are the items of one list. */
  convert(objects: readonly ApiObject[], apiVersion: string, isList?: boolean): Promise<ApiObject[]>;
}
