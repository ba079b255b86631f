import { KubeError } from "../../errors.ts";
import { type Credential, type CredentialSource, isSameCredential } from "../http/cluster-access.ts";
import { parseExecCredential } from "./exec-credential.ts";
import { runPlugin } from "./run-plugin.ts";

/** An exec plugin of a kubeconfig (`users[].user.exec`). */
export interface ExecPlugin {
  readonly apiVersion: "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Shown when the command is missing. */
  readonly installHint?: string;
  /** Passed to the plugin if the kubeconfig sets `provideClusterInfo`. */
  readonly cluster?: object;
}

export interface ExecOptions {
  /** Default 60 s. */
  readonly timeoutMs?: number;
  /** Wall time in ms. Default `Date.now`. */
  readonly now?: () => number;
}

/** A credential is replaced this long before it expires, so that it is still valid when the server checks it. */
const expiryMarginMs = 10_000;
/** A server that rejects every credential must not cause a new process per request. */
const renewPauseMs = 5_000;

interface Known {
  readonly credential: Credential;
  readonly expiresAt: number | undefined;
}

/** Credentials from an exec plugin, kept until they expire or the server rejects them. Runs one process at a time. */
export class ExecCredentials implements CredentialSource {
  readonly #plugin: ExecPlugin;
  readonly #timeoutMs: number;
  readonly #now: () => number;
  #known: Known | undefined;
  #running: Promise<Known> | undefined;
  #renewedAt: number | undefined;

  constructor(plugin: ExecPlugin, options: ExecOptions = {}) {
    this.#plugin = plugin;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#now = options.now ?? Date.now;
  }

  async get(): Promise<Credential> {
    const known = this.#known;
    const isGood = known && (known.expiresAt === undefined || this.#now() < known.expiresAt - expiryMarginMs);
    return isGood ? known.credential : (await this.#refresh()).credential;
  }

  async renew(refused: Credential): Promise<Credential> {
    const known = this.#known;
    const isPausing = this.#renewedAt !== undefined && this.#now() - this.#renewedAt < renewPauseMs;
    if (known && (isPausing || !isSameCredential(known.credential, refused))) return known.credential;
    this.#renewedAt = this.#now();
    return (await this.#refresh()).credential;
  }

  #refresh(): Promise<Known> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<Known> {
    const { apiVersion, command, args, env, cluster, installHint } = this.#plugin;
    const spec = { interactive: false, ...(cluster ? { cluster } : {}) };
    const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
    const result = await runPlugin({
      command,
      args,
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
      timeoutMs: this.#timeoutMs,
    });
    const parsed = "error" in result ? result : parseExecCredential(result.output, apiVersion);
    if ("error" in parsed) {
      const hint = installHint === undefined ? "" : `; ${installHint}`;
      throw new KubeError("Unreachable", `Cannot get a credential from "${command}": ${parsed.error}${hint}`);
    }
    this.#known = parsed;
    return parsed;
  }
}
