import type { ApiObject } from "../api-object.ts";
import type { AccountTokens } from "../auth/account-tokens.ts";
import type { Authenticator } from "../auth/authenticate.ts";
import { type Identity, isSuperuser } from "../auth/identity.ts";
import { impersonate } from "../auth/impersonation.ts";
import type { ProvidedObjects } from "../provided/provided-objects.ts";
import type { ApiRequest } from "../request/api-request.ts";
import { type Attributes, attributesOf } from "./attributes.ts";
import type { Authorizer, Decision } from "./authorizer.ts";
import { refuseEscalation } from "./escalation.ts";
import { forbiddenRequest } from "./forbidden.ts";
import { type OwnerCheck, refuseOwners } from "./owner-guard.ts";
import type { RbacIndex } from "./rbac-index.ts";

/** Authentication and authorization of the server. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly tokens: AccountTokens;
  readonly authorizer: Authorizer;
  readonly index: RbacIndex;
  /** Objects that every authenticated user may read. Undefined if the server provides none. */
  readonly provided: ProvidedObjects | undefined;
}

/** Is notified of the decisions about a request. */
export interface AccessObserver {
  impersonated(identity: Identity): void;
  decided(decision: Decision): void;
}

/** The parts of a request that access depends on. */
export type AccessRequest = Pick<ApiRequest, "method" | "url" | "identity" | "impersonate">;

/** Returns the identity with which an allowed request acts. Throws `Forbidden` otherwise. */
export function admit(access: AccessControl, request: AccessRequest, observer?: AccessObserver): Identity {
  const { authorizer } = access;
  const identity =
    request.impersonate === undefined
      ? request.identity
      : impersonate(authorizer, request.identity, request.impersonate);
  if (request.impersonate !== undefined) observer?.impersonated(identity);
  // Checked before the URL is parsed, because most requests come from the box's own components.
  if (observer === undefined && isSuperuser(identity)) return identity;
  requireAllowed(access, identity, { attributes: attributesOf(request), url: request.url, observer });
  return identity;
}

/** Like `admit`, for requests that upgrade to a stream: a GET also needs permission to create. */
export function admitUpgrade(access: AccessControl, request: AccessRequest, observer?: AccessObserver): Identity {
  const identity = admit(access, request, observer);
  const attributes = attributesOf(request);
  if (attributes.kind === "path" || attributes.verb === "create") return identity;
  requireAllowed(access, identity, { attributes: { ...attributes, verb: "create" }, url: request.url, observer });
  return identity;
}

function requireAllowed(
  { authorizer, provided }: AccessControl,
  identity: Identity,
  { attributes, url, observer }: { attributes: Attributes; url: string; observer: AccessObserver | undefined },
): void {
  const byRole = authorizer.decide(identity, attributes);
  const isProvided = !byRole.allowed && provided?.allows(identity, attributes, url) === true;
  const decision = isProvided ? { allowed: true, reason: "provided to every authenticated user" } : byRole;
  observer?.decided(decision);
  if (!decision.allowed) throw forbiddenRequest(identity, attributes, decision.reason);
}

/** What is needed to look up the owners of an object. */
export type OwnersView = Pick<OwnerCheck, "registry" | "store" | "ownership">;

/**
 * Returns the check of an object before it is written: it must not grant permissions that the writer lacks, or claim owners whose
 * finalizers the writer may not update. An update that would create the object needs permission to create.
 */
export function writeGuard(
  access: AccessControl,
  { identity, method, url }: AccessRequest,
  owners: OwnersView,
): (object: ApiObject, old: ApiObject | undefined) => void {
  return (object, old) => {
    if (isSuperuser(identity)) return;
    const attributes = attributesOf({ method, url });
    if (attributes.kind === "path") return;
    if (old === undefined && attributes.verb !== "create") {
      requireAllowed(access, identity, { attributes: { ...attributes, verb: "create" }, url, observer: undefined });
    }
    const { authorizer, index } = access;
    refuseEscalation({ authorizer, index, identity, attributes }, object, old);
    const { registry, store, ownership } = owners;
    refuseOwners({ registry, store, ownership, authorizer, identity, attributes }, object, old);
  };
}
