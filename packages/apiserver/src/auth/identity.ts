/** The authenticated sender of a request. */
export interface Identity {
  readonly user: string;
  /** Distinguishes users that had the same name at different times. */
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Members may do everything regardless of roles, so that broken roles can be repaired. */
export const superuserGroup = "system:masters";
export const authenticatedGroup = "system:authenticated";
export const unauthenticatedGroup = "system:unauthenticated";
export const nodesGroup = "system:nodes";

export const anonymous: Identity = { user: "system:anonymous", groups: [unauthenticatedGroup] };

export const isSuperuser = ({ groups }: Identity): boolean => groups.includes(superuserGroup);

export interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

const accountPrefix = "system:serviceaccount:";

export const accountUser = ({ namespace, name }: AccountName): string => `${accountPrefix}${namespace}:${name}`;

export const accountGroups = (namespace: string): readonly string[] => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
];

/** Parses `system:serviceaccount:namespace:name`. Returns `undefined` for any other user. */
export function parseAccountUser(user: string): AccountName | undefined {
  if (!user.startsWith(accountPrefix)) return undefined;
  const [namespace, name, ...more] = user.slice(accountPrefix.length).split(":");
  const isLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace ?? "");
  const isSubdomain = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(name ?? "");
  if (!isLabel || !isSubdomain || more.length > 0) return undefined;
  return { namespace, name } as AccountName;
}

/** The identity of a service account for a component in this process. */
export function accountIdentity(account: AccountName): Identity {
  return { user: accountUser(account), groups: [...accountGroups(account.namespace), authenticatedGroup] };
}

export function nodeIdentity(name: string): Identity {
  return { user: `system:node:${name}`, groups: [nodesGroup, authenticatedGroup] };
}
