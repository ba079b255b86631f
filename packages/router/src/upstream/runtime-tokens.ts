import { blueprintChoices, type Sandbox, type Secret } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { BoundedCache } from "../auth/bounded-cache.ts";
import { SingleFlight } from "../auth/single-flight.ts";
import { secrets } from "../cluster/resources.ts";
import type { Target } from "../cluster/target.ts";
import { RouterError } from "../router-error.ts";
import { Misdirected, misdirectedStatus } from "./misdirected.ts";

export interface RuntimeTokensOptions {
  readonly client: Client;
  readonly now: () => number;
}

/** The ports of the injected runtime: legacy API, files, processes. */
const runtimePorts: ReadonlySet<number> = new Set([8888, 8080, 9090]);

export function isRuntimePort(port: number): boolean {
  return runtimePorts.has(port);
}

/** Headers that the injected runtime checks. The router removes them from clients' requests. */
const tokenHeader = "x-sandbox-token";
const uidHeader = "x-sandbox-uid";

const maxTokens = 10_000;
const keptMs = 300_000;
const callTimeoutMs = 3000;

/** Whether a request to this port goes to an injected runtime, which accepts only requests with its token. */
export function needsRuntimeToken(sandbox: Sandbox, port: number): boolean {
  return isRuntimePort(port) && blueprintChoices(sandbox.spec).runtime === "Injected";
}

/** Reads the tokens of injected runtimes from their Secrets and caches them. */
export class RuntimeTokens {
  readonly #options: RuntimeTokensOptions;
  readonly #known: BoundedCache<string>;
  readonly #reads = new SingleFlight<string | undefined>();

  constructor(options: RuntimeTokensOptions) {
    this.#options = options;
    this.#known = new BoundedCache(maxTokens);
  }

  /** The runtime's token, and the UID of the sandbox that is meant: a runtime of another sandbox then refuses. */
  async headersFor(sandbox: Sandbox): Promise<string[]> {
    const token = await this.#of(sandbox);
    const { uid = "" } = sandbox.metadata;
    return token === undefined ? [uidHeader, uid] : [uidHeader, uid, tokenHeader, token];
  }

  /**
   * Checks the status of a response before it is relayed. Drops the cached token if the runtime refused it. Throws
   * `Misdirected` if the runtime belongs to another sandbox.
   */
  checkResponse(target: Target, status: number): void {
    if (status !== 401 && status !== misdirectedStatus) return;
    if (!needsRuntimeToken(target.sandbox, target.port)) return;
    if (status === misdirectedStatus) throw new Misdirected(target);
    this.#known.delete(target.sandbox.metadata.uid ?? "");
  }

  /** Undefined if the Sandbox has no such Secret. Throws if the Secret cannot be read. */
  async #of(sandbox: Sandbox): Promise<string | undefined> {
    const uid = sandbox.metadata.uid ?? "";
    const known = this.#known.get(uid, this.#options.now());
    if (known !== undefined) return known;
    const token = await this.#reads.run(uid, sandbox.metadata.namespace ?? "", () => this.#read(sandbox));
    if (token !== undefined) this.#known.set(uid, token, this.#options.now() + keptMs);
    return token;
  }

  async #read(sandbox: Sandbox): Promise<string | undefined> {
    const { name = "", namespace = "", uid } = sandbox.metadata;
    try {
      const signal = AbortSignal.timeout(callTimeoutMs);
      const secret = await this.#options.client.get(secrets, { namespace, name: `${name}-runtime` }, { signal });
      // Anyone who may create Secrets can choose this name: only a Secret owned by the Sandbox is used.
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
