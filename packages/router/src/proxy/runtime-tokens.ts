import { blueprintChoices, type Sandbox, type Secret } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { BoundedCache } from "../auth/bounded-cache.ts";
import { Questions } from "../auth/questions.ts";
import { secrets } from "../cluster/resources.ts";
import { RouterError } from "../router-error.ts";

export interface RuntimeTokensOptions {
  readonly client: Client;
  readonly now: () => number;
}

/** Where the injected runtime listens: legacy API, files, processes. */
const runtimePorts: ReadonlySet<number> = new Set([8888, 8080, 9090]);

export function isRuntimePort(port: number): boolean {
  return runtimePorts.has(port);
}

/** What the injected runtime looks at; only the router sets them. */
const tokenHeader = "x-sandbox-token";
const uidHeader = "x-sandbox-uid";

const mostTokens = 10_000;
const keptMs = 300_000;
const callLimitMs = 3000;

/** Whether a request to this port is one for the injected runtime, which answers to its own token only. */
export function needsRuntimeToken(sandbox: Sandbox, port: number): boolean {
  return isRuntimePort(port) && blueprintChoices(sandbox.spec).runtime === "Injected";
}

/** The tokens of the injected runtimes, read from their Secrets when first needed. */
export class RuntimeTokens {
  readonly #options: RuntimeTokensOptions;
  readonly #known: BoundedCache<string>;
  readonly #questions = new Questions<string | undefined>();

  constructor(options: RuntimeTokensOptions) {
    this.#options = options;
    this.#known = new BoundedCache(mostTokens);
  }

  /** What shows the runtime that the router may, and whom it means: a runtime that is another's then refuses. */
  async headersFor(sandbox: Sandbox): Promise<string[]> {
    const token = await this.#of(sandbox);
    const { uid = "" } = sandbox.metadata;
    return token === undefined ? [uidHeader, uid] : [uidHeader, uid, tokenHeader, token];
  }

  /** The runtime refused the token: it may have a new one. */
  forget(sandbox: Sandbox): void {
    this.#known.delete(sandbox.metadata.uid ?? "");
  }

  /** Undefined when the Sandbox has no such Secret. Throws when it cannot be read. */
  async #of(sandbox: Sandbox): Promise<string | undefined> {
    const uid = sandbox.metadata.uid ?? "";
    const known = this.#known.get(uid, this.#options.now());
    if (known !== undefined) return known;
    const token = await this.#questions.ask(uid, sandbox.metadata.namespace ?? "", () => this.#read(sandbox));
    if (token !== undefined) this.#known.set(uid, token, this.#options.now() + keptMs);
    return token;
  }

  async #read(sandbox: Sandbox): Promise<string | undefined> {
    const { name = "", namespace = "", uid } = sandbox.metadata;
    try {
      const signal = AbortSignal.timeout(callLimitMs);
      const secret = await this.#options.client.get(secrets, { namespace, name: `${name}-runtime` }, { signal });
      // A Secret of that name which someone else made is not this sandbox's.
      const isOwn = secret.metadata?.ownerReferences?.some((owner) => owner.uid === uid) === true;
      return isOwn ? tokenIn(secret) : undefined;
    } catch (cause) {
      if (isReason(cause, "NotFound")) return undefined;
      throw new RouterError("Internal", "The token of the sandbox's runtime could not be read.", { cause });
    }
  }
}

function tokenIn({ data }: Secret): string | undefined {
  const token = Buffer.from(data?.["token"] ?? "", "base64")
    .toString("latin1")
    .trim();
  return /^[\x21-\x7e]+$/.test(token) ? token : undefined;
}
