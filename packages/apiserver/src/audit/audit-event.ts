import { isJsonObject, stringAt } from "../api-object.ts";
import type { Identity } from "../auth/identity.ts";
import { userInfo } from "../auth/token-review.ts";
import { type Attributes, attributesOf, type ResourceAttributes } from "../authorization/attributes.ts";
import type { Decision } from "../authorization/authorizer.ts";

export type AuditLevel = "None" | "Metadata" | "Request";

/** A request that has been answered. */
export interface AuditedRequest {
  readonly auditId: string;
  readonly method: string;
  readonly url: string;
  readonly userAgent?: string | undefined;
  readonly sourceAddress?: string | undefined;
  readonly identity?: Identity | undefined;
  readonly impersonated?: Identity | undefined;
  readonly decision?: Decision | undefined;
  readonly body?: unknown;
  readonly receivedAtMs: number;
  readonly endedAtMs: number;
  readonly code: number;
  /** The `Status` in the response, if there was one. */
  readonly answer?: unknown;
}

/** A request line may be 64 KiB long; its beginning shows what was requested. */
const maxTextLength = 8 * 1024;
/** Larger bodies are left out: the audit log records who did what and is not a backup. */
const maxBodyLength = 64 * 1024;

/** Resources whose bodies are or may be secret. */
const secretive = new Set(["secrets", "configmaps", "tokenreviews", "serviceaccounts/token"]);

/** One line of the log, as an Event of `audit.k8s.io/v1`. */
export function auditEvent(level: AuditLevel, request: AuditedRequest): object {
  const attributes = attributesOf(request);
  const body = level === "Request" ? bodyOf(attributes, request.body) : {};
  return {
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level: level === "Request" && isSecretive(attributes) ? "Metadata" : level,
    auditID: request.auditId,
    stage: "ResponseComplete",
    requestURI: request.url.slice(0, maxTextLength),
    verb: attributes.verb,
    user: request.identity === undefined ? {} : userInfo(request.identity),
    ...(request.impersonated === undefined ? {} : { impersonatedUser: userInfo(request.impersonated) }),
    sourceIPs: request.sourceAddress === undefined ? [] : [request.sourceAddress],
    ...(request.userAgent === undefined ? {} : { userAgent: request.userAgent.slice(0, maxTextLength) }),
    ...(attributes.kind === "path" ? {} : { objectRef: objectReference(attributes, request.body) }),
    responseStatus: responseStatus(request),
    ...body.fields,
    requestReceivedTimestamp: microTime(request.receivedAtMs),
    stageTimestamp: microTime(request.endedAtMs),
    ...annotations(request.decision, body.truncated === true),
  };
}

interface AuditedBody {
  readonly fields?: { readonly requestObject: unknown };
  readonly truncated?: boolean;
}

function bodyOf(attributes: Attributes, body: unknown): AuditedBody {
  if (body === undefined || isSecretive(attributes)) return {};
  return JSON.stringify(body).length > maxBodyLength ? { truncated: true } : { fields: { requestObject: body } };
}

function isSecretive(attributes: Attributes): boolean {
  if (attributes.kind === "path") return false;
  const { resource, subresource } = attributes;
  return secretive.has(resource) || secretive.has(`${resource}/${subresource}`);
}

function objectReference(attributes: ResourceAttributes, body: unknown): object {
  const { resource, namespace, name, group, version, subresource } = attributes;
  const known = name === "" ? (stringAt(body, "metadata", "name") ?? "") : name;
  const parts = { resource, namespace, name: known, apiGroup: group, apiVersion: version, subresource };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== ""));
}

function responseStatus({ code, answer }: AuditedRequest): object {
  if (!isJsonObject(answer) || answer["kind"] !== "Status") return { metadata: {}, code };
  const { status, message, reason } = answer;
  return { metadata: {}, status, message, reason, code };
}

function annotations(decision: Decision | undefined, truncated: boolean): object {
  const decided =
    decision === undefined
      ? {}
      : {
          "authorization.k8s.io/decision": decision.allowed ? "allow" : "forbid",
          "authorization.k8s.io/reason": decision.reason,
        };
  const all = { ...decided, ...(truncated ? { "audit.k8s.io/truncated": "true" } : {}) };
  return Object.keys(all).length === 0 ? {} : { annotations: all };
}

const microTime = (atMs: number): string => new Date(atMs).toISOString().replace("Z", "000Z");
