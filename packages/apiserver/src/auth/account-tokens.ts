import { createHash, randomUUID } from "node:crypto";
import { type ApiObject, storeKey } from "../api-object.ts";
import type { Clock } from "../clock.ts";
import type { Store } from "../store/store.ts";
import { type AccountClaims, type Binding, type ObjectName, readClaims, writeClaims } from "./account-claims.ts";
import { accountGroups, accountUser, authenticatedGroup, type Identity } from "./identity.ts";
import { peekClaims, signJwt, type TokenKey, verifyJwt } from "./jwt.ts";

export interface AccountTokensOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly key: TokenKey;
  readonly issuer: string;
}

export interface TokenGrant {
  readonly namespace: string;
  readonly account: ObjectName;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly binding: Binding | undefined;
}

export type TokenCheck =
  | { readonly identity: Identity; readonly audiences: readonly string[] }
  | { readonly problem: string };

/** The number of tokens whose verified signature is cached, because verifying takes 0.1 ms. All else is checked on each use. */
const maxVerified = 1024;
/** An object that was marked as deleted this long ago counts as gone, even if a finalizer still holds it. */
const deletionLeewayMs = 60_000;

/** Issues and verifies the tokens of service accounts. */
export class AccountTokens {
  readonly issuer: string;
  /** The default audiences of a token: this server. */
  readonly audiences: readonly string[];
  readonly key: TokenKey;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #verified = new Map<string, AccountClaims>();

  constructor({ store, clock, key, issuer }: AccountTokensOptions) {
    this.#store = store;
    this.#clock = clock;
    this.key = key;
    this.issuer = issuer;
    this.audiences = [issuer];
  }

  issue(grant: TokenGrant): string {
    const now = Math.floor(this.#clock.now() / 1000);
    const { namespace, account, audiences, expirationSeconds, binding } = grant;
    const times = { issuedAt: now, notBefore: now, expiresAt: now + expirationSeconds };
    const claims = { issuer: this.issuer, id: randomUUID(), audiences, namespace, account, binding, ...times };
    return signJwt(writeClaims(claims), this.key);
  }

  /** Returns `undefined` when the token was issued by somebody else. */
  check(token: string, wanted: readonly string[] = this.audiences): TokenCheck | undefined {
    if (peekClaims(token)?.["iss"] !== this.issuer) return undefined;
    const claims = this.#verify(token);
    if ("problem" in claims) return claims;
    const audiences = claims.audiences.filter((each) => wanted.includes(each));
    if (audiences.length === 0) {
      return {
        problem: `token audiences ${list(claims.audiences)} is invalid for the target audiences ${list(wanted)}`,
      };
    }
    const problem = this.#timeProblem(claims) ?? this.#accountProblem(claims) ?? this.#bindingProblem(claims);
    return problem === undefined ? { identity: identityOf(claims), audiences } : { problem };
  }

  #verify(token: string): AccountClaims | { readonly problem: string } {
    const digest = createHash("sha256").update(token).digest("base64");
    const known = this.#verified.get(digest);
    if (known !== undefined) return known;
    const verified = verifyJwt(token, this.key);
    if ("problem" in verified) return verified;
    const claims = readClaims(verified.claims);
    if (claims === undefined) return { problem: "service account token claims could not be validated" };
    const [oldest] = this.#verified.keys();
    if (oldest !== undefined && this.#verified.size >= maxVerified) this.#verified.delete(oldest);
    this.#verified.set(digest, claims);
    return claims;
  }

  #timeProblem({ expiresAt, notBefore, issuedAt }: AccountClaims): string | undefined {
    const now = this.#clock.now() / 1000;
    if (now >= expiresAt) return "service account token has expired";
    if (now < notBefore) return "service account token is not valid yet";
    return now < issuedAt ? "service account token is issued in the future" : undefined;
  }

  #accountProblem({ namespace, account }: AccountClaims): string | undefined {
    const stored = this.#store.get("serviceaccounts", storeKey(namespace, account.name))?.object;
    if (stored === undefined) return `serviceaccounts "${account.name}" not found`;
    if (stored.metadata.uid !== account.uid) {
      return `service account UID (${stored.metadata.uid}) does not match claim (${account.uid})`;
    }
    return this.#isDeleted(stored) ? `service account ${namespace}/${account.name} has been deleted` : undefined;
  }

  #bindingProblem({ namespace, binding }: AccountClaims): string | undefined {
    switch (binding?.kind) {
      case undefined:
        return undefined;
      case "pod":
        return this.#boundProblem("pods", storeKey(namespace, binding.pod.name), binding.pod.uid);
      case "secret":
        return this.#boundProblem("secrets", storeKey(namespace, binding.secret.name), binding.secret.uid);
      case "node":
        return this.#boundProblem("nodes", binding.node.name, binding.node.uid);
      default:
        return binding satisfies never;
    }
  }

  #boundProblem(resource: string, key: string, uid: string): string | undefined {
    const stored = this.#store.get(resource, key)?.object;
    const good = stored !== undefined && stored.metadata.uid === uid && !this.#isDeleted(stored);
    return good ? undefined : "service account token has been invalidated";
  }

  #isDeleted({ metadata: { deletionTimestamp } }: ApiObject): boolean {
    return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < this.#clock.now() - deletionLeewayMs;
  }
}

const list = (values: readonly string[]): string => `[${values.map((each) => JSON.stringify(each)).join(" ")}]`;

function identityOf({ namespace, account, binding, id }: AccountClaims): Identity {
  const extra: Record<string, readonly string[]> = { "authentication.kubernetes.io/credential-id": [`JTI=${id}`] };
  const add = (key: string, value: string | undefined): void => {
    if (value !== undefined) extra[`authentication.kubernetes.io/${key}`] = [value];
  };
  if (binding?.kind === "pod") {
    add("pod-name", binding.pod.name);
    add("pod-uid", binding.pod.uid);
  }
  if (binding?.kind === "pod" || binding?.kind === "node") {
    add("node-name", binding.node?.name);
    add("node-uid", binding.node?.uid);
  }
  return {
    user: accountUser({ namespace, name: account.name }),
    uid: account.uid,
    groups: [...accountGroups(namespace), authenticatedGroup],
    extra,
  };
}
