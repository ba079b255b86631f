import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { restoredMetadata } from "./converted-metadata.ts";

/** The versions of ConversionReview that the server supports. */
export const reviewVersions: readonly string[] = ["v1", "v1beta1"];

export interface ReviewRequest {
  readonly uid: string;
  /** The first version of the webhook's list that the server supports. */
  readonly version: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly ApiObject[];
}

export function reviewBody({ uid, version, desiredAPIVersion, objects }: ReviewRequest): object {
  return {
    kind: "ConversionReview",
    apiVersion: `apiextensions.k8s.io/${version}`,
    request: { uid, desiredAPIVersion, objects },
    response: { uid: "", convertedObjects: null, result: { metadata: {} } },
  };
}

/** The converted objects, or what is wrong with the response, as the rest of a sentence about the webhook. */
export type ReviewResult = { readonly objects: readonly ApiObject[] } | { readonly error: string };

/** Validates a response as kube-apiserver does: the webhook must not change the identity of an object. */
export function readReview(answer: unknown, request: ReviewRequest, isList: boolean): ReviewResult {
  const found = convertedObjects(answer, request);
  if (typeof found === "string") return { error: `failed: ${found}` };
  const wanted = request.objects.length;
  if (found.length !== wanted) return { error: `returned ${found.length} objects, expected ${wanted}` };
  const objects: ApiObject[] = [];
  for (const [at, original] of request.objects.entries()) {
    const checked = checkedObject(original, found[at], { version: request.desiredAPIVersion, at, isList });
    if (typeof checked === "string") return { error: checked };
    objects.push(checked);
  }
  return { objects };
}

function convertedObjects(answer: unknown, { uid, version }: ReviewRequest): readonly unknown[] | string {
  const { apiVersion, kind, response } = isJsonObject(answer) ? answer : {};
  // Kubernetes does not check these in v1beta1.
  if (version === "v1" && (apiVersion !== "apiextensions.k8s.io/v1" || kind !== "ConversionReview")) {
    return `expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got ${kindText(apiVersion, kind)}`;
  }
  if (!isJsonObject(response)) return "no response provided";
  if (version === "v1" && response["uid"] !== uid) {
    return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response["uid"] ?? "")}`;
  }
  const { status = "", message = "" } = isJsonObject(response["result"]) ? response["result"] : {};
  if (status !== "Success") return text(message) || `response.result.status was '${text(status)}', not 'Success'`;
  return Array.isArray(response["convertedObjects"]) ? response["convertedObjects"] : [];
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function kindText(apiVersion: unknown, kind: unknown): string {
  const [version = "", group = ""] = text(apiVersion).split("/").toReversed();
  return `${group}/${version}, Kind=${text(kind)}`;
}

interface Place {
  readonly version: string;
  readonly at: number;
  readonly isList: boolean;
}

function checkedObject(original: ApiObject, converted: unknown, { version, at, isList }: Place): ApiObject | string {
  const shape = shapeProblem(original, converted, version);
  if (shape !== undefined) {
    return isList
      ? `returned invalid converted object at index ${at}: ${shape}`
      : `returned invalid object at index 0: ${shape}`;
  }
  const object = converted as JsonObject;
  const identity = identityProblem(original, object);
  if (identity !== undefined) {
    return isList
      ? `returned invalid converted object at index ${at}: ${identity}`
      : `returned invalid object: ${identity}`;
  }
  const metadata = restoredMetadata(original, object["metadata"]);
  if (typeof metadata !== "string") return { ...object, metadata } as ApiObject;
  return isList
    ? `returned invalid metadata in object at index ${at}: ${metadata}`
    : `returned invalid metadata: ${metadata}`;
}

function shapeProblem(original: ApiObject, converted: unknown, version: string): string | undefined {
  if (!isJsonObject(converted)) return "not an object";
  const { apiVersion, kind } = converted;
  if (apiVersion !== version) return `invalid groupVersion (expected ${version}, received ${text(apiVersion)})`;
  if (kind !== original.kind) return `invalid kind (expected ${original.kind}, received ${text(kind)})`;
  return undefined;
}

function identityProblem({ metadata }: ApiObject, converted: JsonObject): string | undefined {
  const given = isJsonObject(converted["metadata"]) ? converted["metadata"] : {};
  for (const [name, field] of [
    ["name", "name"],
    ["namespace", "namespace"],
    ["UID", "uid"],
  ] as const) {
    const before = metadata[field] ?? "";
    const after = text(given[field]);
    if (before !== after) return `must have the same ${name}: ${before} != ${after}`;
  }
  return undefined;
}
