import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Authority, type KeyPair, makeServiceAccountKeys, type ServiceAccountKeys } from "./authority.ts";
import { makeUser, tokenFile, type User, type UserRequest } from "./users.ts";

/** The users and keys of one cluster. All files are in its folder. */
export interface Identities {
  readonly authority: Authority;
  readonly serving: KeyPair;
  readonly serviceAccountKeys: ServiceAccountKeys;
  readonly admin: User;
  readonly users: readonly User[];
  /** The path of the token file. */
  readonly tokens: string;
}

export function makeIdentities(folder: string, url: string, wanted: readonly UserRequest[]): Identities {
  const authority = new Authority(folder);
  const admin = makeUser({ name: "admin", groups: ["system:masters"] }, { url, authority });
  const users = wanted.map((user) => makeUser(user, { url, authority }));
  const tokens = join(folder, "tokens.csv");
  writeFileSync(tokens, tokenFile([admin, ...users]), { mode: 0o600 });
  return {
    authority,
    serving: authority.issueServer("kube-apiserver", ["kubernetes.default.svc"]),
    serviceAccountKeys: makeServiceAccountKeys(folder),
    admin,
    users,
    tokens,
  };
}
