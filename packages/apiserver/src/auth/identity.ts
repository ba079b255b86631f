/** Who a request comes from. */
export interface Identity {
  readonly user: string;
  /** Tells apart two users who had the same name one after the other. */
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Members may do everything, whatever the roles say: the way back in when the roles are broken. */
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

/** Reads `system:serviceaccount:namespace:name`; anything else is not a service account. */
export function parseAccountUser(user: string): AccountName | undefined {
  if (!user.startsWith(accountPrefix)) return undefined;
  const [namespace, name, ...more] = user.slice(accountPrefix.length).split(":");
  const isLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace ?? "");
  const isSubdomain = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(name ?? "");
  if (!isLabel || !isSubdomain || more.length > 0) return undefined;
  return { namespace, name } as AccountName;
}

/** A service account as a program of this process presents itself. */
export function accountIdentity(account: AccountName): Identity {
  return { user: accountUser(account), groups: [...accountGroups(account.namespace), authenticatedGroup] };
}

export function nodeIdentity(name: string): Identity {
  return { user: `system:node:${name}`, groups: [nodesGroup, authenticatedGroup] };
}
