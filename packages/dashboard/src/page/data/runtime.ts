/**
 * The runtime API of a sandbox (commands, files, ports) through the dashboard's own origin, as the user of the session. The SDK is loaded
 * when the first view needs it. Calls wake a sandbox that sleeps.
 */
import type { Sandbox as RunningSandbox, SandboxClient } from "@agent-sandbox/sdk";
import type { Session } from "./session.ts";
import { tryAgain } from "./try-again.ts";

export class Runtime {
  readonly #requestToken: string;
  #client: Promise<SandboxClient> | undefined;

  constructor({ requestToken }: Session) {
    this.#requestToken = requestToken;
  }

  async sandbox(of: { readonly namespace: string; readonly name: string }): Promise<RunningSandbox> {
    this.#client ??= this.#connect();
    const client = await this.#client;
    return client.handle(of.name, { namespace: of.namespace });
  }

  async #connect(): Promise<SandboxClient> {
    try {
      const { connect } = await tryAgain(() => import("@agent-sandbox/sdk"));
      return await connect({ router: `${location.origin}/runtime`, token: this.#requestToken });
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
  }
}
