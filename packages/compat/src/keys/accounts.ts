import type { Client } from "@agent-sandbox/kube";
import { HttpError, unauthorized } from "../http/http-error.ts";
import type { Callers, ClientFor, User } from "../ports.ts";
import { parseApiKey } from "./api-key.ts";

/** The caller of a control API: what it may do is what its token may do in one namespace. */
export interface Account {
  readonly user: User;
  readonly namespace: string;
  readonly client: Client;
}

export interface AccountsOptions {
  readonly callers: Callers;
  readonly clientFor: ClientFor;
  /** For users that are not service accounts. */
  readonly defaultNamespace: string;
}

/** Finds the account of an API key. */
export class Accounts {
  readonly #options: AccountsOptions;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  async authenticate(key: string | undefined, peer: string): Promise<Account> {
    const parsed = parseApiKey(key ?? "");
    if (parsed === undefined) throw unauthorized("The API key is missing or malformed");
    const { callers, clientFor, defaultNamespace } = this.#options;
    const user = await callers.userOf(parsed.token, peer).catch((cause: unknown) => {
      throw new HttpError(503, "The API key could not be checked", { cause });
    });
    if (user === undefined) throw unauthorized("The API key is not valid");
    const namespace = parsed.namespace ?? namespaceOf(user) ?? defaultNamespace;
    return { user, namespace, client: clientFor(user, parsed.token) };
  }
}

function namespaceOf({ username }: User): string | undefined {
  return /^system:serviceaccount:([^:]+):/.exec(username)?.[1];
}
