import { badRequest, conflict, type FieldError, invalid, notFound } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, storeKey, stringAt } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import type { ObjectReply } from "../request/api-request.ts";
import { objectReply, type ReplyContext } from "../request/replies.ts";
import { type ObjectTarget, subjectOf } from "../request/target.ts";
import type { ApiContext } from "../verbs/context.ts";
import type { Binding } from "./account-claims.ts";

const group = "authentication.k8s.io";
const defaultSeconds = 3600;
const minSeconds = 10 * 60;
const maxSeconds = 2 ** 32;
/** Bounded because all audiences are in the token, and a token must fit into a header. */
const maxAudiences = 32;

/** Answers `serviceaccounts/{name}/token` with a new token for a service account. */
export function tokenRequestReply({ context, request }: ReplyContext, target: ObjectTarget): ObjectReply {
  const { name, namespace = "" } = target;
  const body = readBody(request.body);
  const account = context.store.get("serviceaccounts", storeKey(namespace, name))?.object;
  if (account === undefined) throw notFound(subjectOf(target, name));
  const spec = isJsonObject(body["spec"]) ? body["spec"] : {};
  const seconds = spec["expirationSeconds"] ?? defaultSeconds;
  const audiences = Array.isArray(spec["audiences"]) ? (spec["audiences"] as unknown[]) : [];
  refuse(name, metadataProblems(body, account));
  checkUid(body, account);
  refuse("", [...expiryProblems(seconds), ...audienceProblems(audiences)]);
  const wanted = {
    audiences: audiences.length === 0 ? context.access.tokens.audiences : (audiences as string[]),
    expirationSeconds: seconds as number,
  };
  return objectReply(201, issue(context, account, { ...wanted, reference: spec["boundObjectRef"] }));
}

function refuse(name: string, problems: readonly FieldError[]): void {
  if (problems.length > 0) throw invalid("TokenRequest", { group, plural: "TokenRequest", name }, problems);
}

function checkUid(body: JsonObject, { metadata: { name = "", uid = "" } }: ApiObject): void {
  const given = stringAt(body, "metadata", "uid") ?? "";
  if (given === "" || given === uid) return;
  const why = `the UID in the token request (${given}) does not match the UID of the service account (${uid})`;
  throw conflict({ group, plural: "TokenRequest", name }, why);
}

interface Wanted {
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly reference: unknown;
}

function issue(context: ApiContext, account: ApiObject, wanted: Wanted): object {
  const { audiences, expirationSeconds, reference } = wanted;
  const { name = "", namespace = "", uid = "" } = account.metadata;
  const bound = isJsonObject(reference) ? reference : undefined;
  const binding = bound === undefined ? undefined : bindingTo(context, account, bound);
  const nowMs = context.clock.now();
  const grant = { namespace, account: { name, uid }, audiences, expirationSeconds, binding };
  const token = context.access.tokens.issue(grant);
  const expirationTimestamp = timestamp(nowMs + expirationSeconds * 1000);
  return {
    apiVersion: `${group}/v1`,
    kind: "TokenRequest",
    metadata: { name, namespace, uid, creationTimestamp: timestamp(nowMs) },
    spec: { audiences, expirationSeconds, boundObjectRef: bound ?? null },
    status: { token, expirationTimestamp },
  };
}

function readBody(body: unknown): JsonObject {
  if (!isJsonObject(body)) throw badRequest("the body of the request must be a JSON object");
  const { apiVersion = `${group}/v1`, kind = "TokenRequest" } = body;
  if (apiVersion !== `${group}/v1` || kind !== "TokenRequest") {
    throw badRequest(
      `the path takes "${group}/v1" "TokenRequest", not ${JSON.stringify(apiVersion)} ${JSON.stringify(kind)}`,
    );
  }
  return body;
}

function wrong(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

function metadataProblems(body: JsonObject, { metadata }: ApiObject): FieldError[] {
  return (["name", "namespace"] as const).flatMap((key) => {
    const given = stringAt(body, "metadata", key) ?? "";
    if (given === "" || given === metadata[key]) return [];
    return [wrong(`metadata.${key}`, given, `must match the service account ${key} if specified`)];
  });
}

function expiryProblems(seconds: unknown): FieldError[] {
  const field = "spec.expirationSeconds";
  if (!Number.isInteger(seconds)) return [wrong(field, seconds, "must be a whole number")];
  if ((seconds as number) < minSeconds)
    return [wrong(field, seconds, "may not specify a duration less than 10 minutes")];
  const tooLong = (seconds as number) > maxSeconds;
  return tooLong ? [wrong(field, seconds, "may not specify a duration larger than 2^32 seconds")] : [];
}

function audienceProblems(audiences: readonly unknown[]): FieldError[] {
  const field = "spec.audiences";
  if (audiences.length > maxAudiences) return [wrong(field, audiences.length, `at most ${maxAudiences} are allowed`)];
  const fine = audiences.every((each) => typeof each === "string" && each !== "" && each.length <= 253);
  return fine ? [] : [wrong(field, audiences, "each must be text of 1 to 253 characters")];
}

/** The existing object that the token will be bound to. */
function bindingTo({ store }: ApiContext, account: ApiObject, reference: JsonObject): Binding {
  const { kind, apiVersion, name, uid } = reference;
  const { namespace } = account.metadata;
  if (typeof name !== "string" || apiVersion !== "v1") throw unbindable(reference);
  const found = (plural: string, place: string | undefined): { name: string; uid: string; object: ApiObject } => {
    const object = store.get(plural, storeKey(place, name))?.object;
    if (object === undefined) throw notFound({ group: "", plural, name });
    const actual = object.metadata.uid as string;
    if (typeof uid === "string" && uid !== "" && uid !== actual) {
      const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
      throw conflict({ group: "", plural: String(kind), name }, why);
    }
    return { name, uid: actual, object };
  };
  switch (kind) {
    case "Pod": {
      const { object, ...pod } = found("pods", namespace);
      const runsAs = stringAt(object, "spec", "serviceAccountName") ?? "";
      if (runsAs !== account.metadata.name) {
        throw badRequest(
          `cannot bind token for serviceaccount "${account.metadata.name}" to pod running with different serviceaccount name.`,
        );
      }
      return { kind: "pod", pod, node: nodeOf(store, object) };
    }
    case "Secret": {
      const { object: _object, ...secret } = found("secrets", namespace);
      return { kind: "secret", secret };
    }
    case "Node": {
      const { object: _object, ...node } = found("nodes", undefined);
      return { kind: "node", node };
    }
    default:
      throw unbindable(reference);
  }
}

function nodeOf(store: ApiContext["store"], pod: ApiObject): { name: string; uid?: string } | undefined {
  const name = stringAt(pod, "spec", "nodeName") ?? "";
  if (name === "") return undefined;
  const uid = store.get("nodes", name)?.object.metadata.uid;
  return { name, ...(uid === undefined ? {} : { uid }) };
}

const unbindable = ({ apiVersion, kind }: JsonObject): Error =>
  badRequest(`cannot bind token to object of type /${String(apiVersion)}, Kind=${String(kind)}`);
