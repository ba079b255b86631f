import { badRequest } from "../api-error.ts";
import type { ResourceAttributes } from "../authorization/attributes.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { forbiddenRequest } from "../authorization/forbidden.ts";
import {
  accountGroups,
  anonymous,
  authenticatedGroup,
  type Identity,
  parseAccountUser,
  unauthenticatedGroup,
} from "./identity.ts";

const prefix = "impersonate-";
const extraPrefix = `${prefix}extra-`;

type Headers = Readonly<Record<string, readonly string[] | undefined>>;

/** Whether a header, given in lower case, is about impersonation. */
export const asksToImpersonate = (name: string): boolean => name.startsWith(prefix);

/**
 * Reads the impersonated identity from headers with lower-case names. Nothing is checked yet, and the user may be missing.
 */
export function readImpersonation(headers: Headers): Identity | undefined {
  const names = Object.keys(headers).filter(asksToImpersonate);
  if (names.length === 0) return undefined;
  const [user = ""] = headers["impersonate-user"] ?? [];
  const [uid] = headers["impersonate-uid"] ?? [];
  const groups = headers["impersonate-group"] ?? [];
  const extraNames = names.filter((name) => name.startsWith(extraPrefix));
  const extra = Object.fromEntries(
    extraNames.map((name) => [unescapeKey(name.slice(extraPrefix.length)), headers[name] ?? []]),
  );
  return {
    user,
    groups,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    ...(extraNames.length === 0 ? {} : { extra }),
  };
}

/** The same for headers as Node parses them: clients send UTF-8, which Node decodes as Latin-1. */
export function readWireImpersonation(headers: Headers): Identity | undefined {
  const names = Object.keys(headers).filter(asksToImpersonate);
  if (names.length === 0) return undefined;
  const decode = (value: string): string => Buffer.from(value, "latin1").toString("utf8");
  return readImpersonation(Object.fromEntries(names.map((name) => [name, headers[name]?.map(decode)])));
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key).toLowerCase();
  } catch {
    return key;
  }
}

/** Returns the requested identity if the requester may `impersonate` every part of it, and otherwise throws `Forbidden`. */
export function impersonate(authorizer: Authorizer, identity: Identity, wanted: Identity): Identity {
  if (wanted.user === "") throw badRequest("requested a UID, groups or extras without impersonating a user name");
  for (const attributes of impersonationAttributes(wanted)) {
    const { allowed, reason } = authorizer.decide(identity, attributes);
    if (!allowed) throw forbiddenRequest(identity, attributes, reason);
  }
  return { ...wanted, groups: impersonatedGroups(wanted) };
}

function* impersonationAttributes({ user, uid, groups, extra = {} }: Identity): Generator<ResourceAttributes> {
  const verb = "impersonate";
  const none = { kind: "resource", verb, group: "", version: "v1", namespace: "", subresource: "" } as const;
  const account = parseAccountUser(user);
  if (account === undefined) yield { ...none, resource: "users", name: user };
  else yield { ...none, resource: "serviceaccounts", ...account };
  for (const name of groups) yield { ...none, resource: "groups", name };
  const ours = { ...none, group: "authentication.k8s.io" };
  for (const [key, values] of Object.entries(extra)) {
    for (const name of values) yield { ...ours, resource: "userextras", subresource: key, name };
  }
  if (uid !== undefined) yield { ...ours, resource: "uids", name: uid };
}

/** The requested groups, or else those that the user always has, with the group for authenticated or anonymous users. */
function impersonatedGroups({ user, groups }: Identity): readonly string[] {
  const account = parseAccountUser(user);
  const known = groups.length > 0 || account === undefined ? groups : accountGroups(account.namespace);
  if (user === anonymous.user) {
    return known.includes(unauthenticatedGroup) ? known : [...known, unauthenticatedGroup];
  }
  const said = known.includes(authenticatedGroup) || known.includes(unauthenticatedGroup);
  return said ? known : [...known, authenticatedGroup];
}
