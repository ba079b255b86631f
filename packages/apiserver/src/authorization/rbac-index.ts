import { type ApiObject, isJsonObject, storeKey, stringAt } from "../api-object.ts";
import { accountUser, type Identity } from "../auth/identity.ts";
import type { ResourceChange, Store } from "../store/store.ts";
import { type PolicyRule, readRules } from "./policy-rule.ts";

export const rbacGroup = "rbac.authorization.k8s.io";

export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

/** One subject of one binding. */
export interface Grant {
  readonly binding: string;
  /** The namespace of a RoleBinding, `undefined` for a ClusterRoleBinding. */
  readonly namespace: string | undefined;
  readonly role: RoleRef;
  readonly subject: { readonly kind: string; readonly name: string; readonly namespace: string | undefined };
}

export type FoundRules = { readonly rules: readonly PolicyRule[] } | { readonly problem: string };

type Grants = Map<string, Map<string, Grant>>;

const watched = new Set(["roles", "clusterroles", "rolebindings", "clusterrolebindings"]);

/**
 * An index of bindings by subject. It follows every change of the store, so that a decision reads only the bindings of the
 * requesting user, and a write takes effect before it is acknowledged.
 */
export class RbacIndex {
  readonly #rules = new Map<string, readonly PolicyRule[]>();
  readonly #grants: Grants = new Map();

  /** Reads the stored roles and bindings and follows their changes. Returns a function that stops it. */
  follow(store: Store): () => void {
    for (const resource of watched) {
      for (const { object } of store.list(resource)) this.#add(resource, object);
    }
    return store.subscribe(undefined, (changes) => {
      for (const change of changes) this.#notice(change);
    });
  }

  /** All grants that apply in a namespace, or cluster-wide when the namespace is empty. */
  *grantsOf({ user, groups }: Identity, namespace: string): Generator<Grant> {
    const subjects = [userKey(user), ...groups.map(groupKey)];
    for (const place of namespace === "" ? [""] : ["", namespace]) {
      for (const subject of subjects) yield* this.#grants.get(placed(place, subject))?.values() ?? [];
    }
  }

  /** The rules of the role that a binding in the given namespace refers to. */
  rulesOf({ kind, name }: RoleRef, namespace: string | undefined): FoundRules {
    const key = kind === "ClusterRole" ? name : storeKey(namespace, name);
    const rules = this.#rules.get(`${kind}\n${key}`);
    return rules === undefined ? { problem: missingRole(kind, name) } : { rules };
  }

  #notice({ resource, change }: ResourceChange): void {
    if (!watched.has(resource)) return;
    if (change.previous !== undefined) this.#remove(resource, change.previous.object);
    if (change.stored !== undefined) this.#add(resource, change.stored.object);
  }

  #add(resource: string, object: ApiObject): void {
    const role = roleKey(resource, object);
    if (role !== undefined) return void this.#rules.set(role, readRules(object["rules"]));
    for (const [key, grant] of grantsIn(object)) {
      const known = this.#grants.get(key) ?? new Map<string, Grant>();
      // Of several equal subjects in one binding, the first counts.
      if (!known.has(bindingKey(object))) known.set(bindingKey(object), grant);
      this.#grants.set(key, known);
    }
  }

  #remove(resource: string, object: ApiObject): void {
    const role = roleKey(resource, object);
    if (role !== undefined) return void this.#rules.delete(role);
    for (const [key] of grantsIn(object)) {
      const known = this.#grants.get(key);
      known?.delete(bindingKey(object));
      if (known?.size === 0) this.#grants.delete(key);
    }
  }
}

function missingRole(kind: string, name: string): string {
  if (kind !== "Role" && kind !== "ClusterRole") return `unsupported role reference kind: ${JSON.stringify(kind)}`;
  return `${kind.toLowerCase()}.${rbacGroup} ${JSON.stringify(name)} not found`;
}

function roleKey(resource: string, { metadata }: ApiObject): string | undefined {
  if (resource === "clusterroles") return `ClusterRole\n${metadata.name}`;
  return resource === "roles" ? `Role\n${storeKey(metadata.namespace, metadata.name as string)}` : undefined;
}

const bindingKey = ({ metadata }: ApiObject): string => storeKey(metadata.namespace, metadata.name as string);
const userKey = (user: string): string => `user ${user}`;
const groupKey = (group: string): string => `group ${group}`;
/** Namespaces contain no line breaks, so the key is unambiguous. */
const placed = (namespace: string, subject: string): string => `${namespace}\n${subject}`;

function* grantsIn(object: ApiObject): Generator<[string, Grant]> {
  const { name: binding = "", namespace } = object.metadata;
  const role = { kind: stringAt(object, "roleRef", "kind") ?? "", name: stringAt(object, "roleRef", "name") ?? "" };
  const subjects = object["subjects"];
  for (const subject of Array.isArray(subjects) ? subjects.filter(isJsonObject) : []) {
    const kind = stringAt(subject, "kind") ?? "";
    const name = stringAt(subject, "name") ?? "";
    const own = stringAt(subject, "namespace");
    const home = own === undefined || own === "" ? namespace : own;
    const key = subjectKey(kind, name, home);
    if (key === undefined) continue;
    yield [placed(namespace ?? "", key), { binding, namespace, role, subject: { kind, name, namespace: home } }];
  }
}

function subjectKey(kind: string, name: string, home: string | undefined): string | undefined {
  if (kind === "User") return userKey(name);
  if (kind === "Group") return groupKey(name);
  return kind === "ServiceAccount" && home !== undefined ? userKey(accountUser({ namespace: home, name })) : undefined;
}
