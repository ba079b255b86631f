import { AccountTokens } from "../auth/account-tokens.ts";
import { Authenticator } from "../auth/authenticate.ts";
import { tokenKey } from "../auth/token-key.ts";
import type { Clock } from "../clock.ts";
import type { ProvidedObjects } from "../provided/provided-objects.ts";
import type { Store } from "../store/store.ts";
import type { AccessControl } from "./access-control.ts";
import { Authorizer } from "./authorizer.ts";
import { RbacIndex } from "./rbac-index.ts";

export interface AccessOptions {
  /** Default: the name of the API server inside a cluster. */
  readonly issuer?: string | undefined;
  /** Paths that need no credentials. Default: `/healthz`, `/livez`, `/readyz` and `/version`. */
  readonly anonymousPaths?: readonly string[] | undefined;
}

export interface AccessParts {
  readonly store: Store;
  readonly clock: Clock;
  /** The folder for keys. Without it, keys are kept only in memory. */
  readonly dataDir: string | undefined;
  readonly adminToken: string;
  readonly provided: ProvidedObjects | undefined;
  readonly options: AccessOptions;
}

const defaultIssuer = "https://kubernetes.default.svc.cluster.local";

/** Creates authentication and authorization, which follow the store from then on. */
export function openAccess({ store, clock, dataDir, adminToken, provided, options }: AccessParts): AccessControl {
  const { issuer = defaultIssuer, anonymousPaths } = options;
  const tokens = new AccountTokens({ store, clock, key: tokenKey(dataDir), issuer });
  const index = new RbacIndex();
  index.follow(store);
  const authenticator = new Authenticator({ adminToken, tokens, clock, anonymousPaths });
  return { authenticator, tokens, index, authorizer: new Authorizer(index), provided };
}
