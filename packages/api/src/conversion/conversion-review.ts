import { isJsonObject, type JsonObject } from "../primitives/deep-equal.ts";
import { convert, isServed } from "./convert.ts";

/** The response to a `ConversionReview`, in the version of the request. */
export interface ConversionReviewResponse {
  readonly apiVersion: string;
  readonly kind: "ConversionReview";
  readonly response: {
    readonly uid: string;
    readonly convertedObjects: readonly JsonObject[];
    readonly result: { readonly status: "Success" } | { readonly status: "Failure"; readonly message: string };
  };
}

const newestReview = "apiextensions.k8s.io/v1";
const reviewVersions: readonly unknown[] = [newestReview, "apiextensions.k8s.io/v1beta1"];

/**
 * Answers a request to a conversion webhook. If one object cannot be converted, the whole review fails. A body that is not a
 * ConversionReview is also answered with a failure, in the newest version.
 */
export function convertReview(review: unknown): ConversionReviewResponse {
  const { apiVersion, kind, request } = isJsonObject(review) ? review : {};
  const asked = isJsonObject(request) ? request : {};
  const uid = typeof asked["uid"] === "string" ? asked["uid"] : "";
  const answer = (result: readonly JsonObject[] | string): ConversionReviewResponse => ({
    apiVersion: typeof apiVersion === "string" && reviewVersions.includes(apiVersion) ? apiVersion : newestReview,
    kind: "ConversionReview",
    response:
      typeof result === "string"
        ? { uid, convertedObjects: [], result: { status: "Failure", message: result } }
        : { uid, convertedObjects: result, result: { status: "Success" } },
  });
  if (kind !== "ConversionReview" || !reviewVersions.includes(apiVersion)) {
    return answer(`Cannot convert: want a ConversionReview of ${reviewVersions.join(" or ")}`);
  }
  const { desiredAPIVersion, objects } = asked;
  if (uid === "" || typeof desiredAPIVersion !== "string" || !Array.isArray(objects)) {
    return answer("Cannot convert: request must have uid, desiredAPIVersion and objects");
  }
  if (!isServed(desiredAPIVersion))
    return answer(`Cannot convert to "${desiredAPIVersion}": no such version is served`);
  return answer(convertAll(objects, desiredAPIVersion));
}

function convertAll(objects: readonly unknown[], desiredAPIVersion: string): readonly JsonObject[] | string {
  const converted: JsonObject[] = [];
  for (const object of objects) {
    const result = convert(object, desiredAPIVersion);
    if ("error" in result) return result.error;
    converted.push(result.object);
  }
  return converted;
}
