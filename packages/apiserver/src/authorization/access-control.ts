import type { ApiObject } from "../api-object.ts";
import type { AccountTokens } from "../auth/account-tokens.ts";
import type { Authenticator } from "../auth/authenticate.ts";
import { type Identity, isSuperuser } from "../auth/identity.ts";
import { impersonate } from "../auth/impersonation.ts";
import type { ApiRequest } from "../request/api-request.ts";
import { type Attributes, attributesOf } from "./attributes.ts";
import type { Authorizer, Decision } from "./authorizer.ts";
import { refuseEscalation } from "./escalation.ts";
import { forbiddenRequest } from "./forbidden.ts";
import { type OwnerCheck, refuseOwners } from "./owner-guard.ts";
import type { RbacIndex } from "./rbac-index.ts";

/** Everything that says who somebody is and what they may do. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly tokens: AccountTokens;
  readonly authorizer: Authorizer;
  readonly index: RbacIndex;
}

/** Hears what was decided about a request. */
export interface AccessObserver {
  impersonated(identity: Identity): void;
  decided(decision: Decision): void;
}

/** The parts of a request that access depends on. */
export type AccessRequest = Pick<ApiRequest, "method" | "url" | "identity" | "impersonate">;

/** Who acts in a request, once it is allowed; refuses it otherwise. */
export function admit(access: AccessControl, request: AccessRequest, observer?: AccessObserver): Identity {
  const { authorizer } = access;
  const identity =
    request.impersonate === undefined
      ? request.identity
      : impersonate(authorizer, request.identity, request.impersonate);
  if (request.impersonate !== undefined) observer?.impersonated(identity);
  // Before anything is read from the URL: most requests of the box's own parts come this way.
  if (observer === undefined && isSuperuser(identity)) return identity;
  requireAllowed(access, identity, { attributes: attributesOf(request), observer });
  return identity;
}

/** Like `admit`, for requests that turn into a stream both ways: who may not create one may not get one either. */
export function admitUpgrade(access: AccessControl, request: AccessRequest, observer?: AccessObserver): Identity {
  const identity = admit(access, request, observer);
  const attributes = attributesOf(request);
  if (attributes.kind === "path" || attributes.verb === "create") return identity;
  requireAllowed(access, identity, { attributes: { ...attributes, verb: "create" }, observer });
  return identity;
}

function requireAllowed(
  { authorizer }: AccessControl,
  identity: Identity,
  { attributes, observer }: { readonly attributes: Attributes; readonly observer: AccessObserver | undefined },
): void {
  const decision = authorizer.decide(identity, attributes);
  observer?.decided(decision);
  if (!decision.allowed) throw forbiddenRequest(identity, attributes, decision.reason);
}

/** Where the owners that an object names are looked up. */
export type OwnersView = Pick<OwnerCheck, "registry" | "store" | "ownership">;

/**
 * The check of what a request is about to write: it gives nobody more than its writer has, claims no owner that the writer
 * may not speak for, and a change that would create needs the right to create.
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
      requireAllowed(access, identity, { attributes: { ...attributes, verb: "create" }, observer: undefined });
    }
    const { authorizer, index } = access;
    refuseEscalation({ authorizer, index, identity, attributes }, object, old);
    const { registry, store, ownership } = owners;
    refuseOwners({ registry, store, ownership, authorizer, identity, attributes }, object, old);
  };
}
