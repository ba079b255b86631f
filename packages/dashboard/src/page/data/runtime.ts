/**
 * The runtime API of a sandbox (commands, files, ports) through the dashboard's own origin, as the user of the session. The SDK is loaded
 * when the first view needs it. Calls wake a sandbox that sleeps.
 */
import type { Sandbox as RunningSandbox, SandboxClient } from "@agent-sandbox/sdk";
import type { Session } from "./session.ts";
import { type OnConnection, streamFetch } from "./stream-fetch.ts";
import type { Streams } from "./streams.ts";
import { tryAgain } from "./try-again.ts";

interface Place {
  readonly namespace: string;
  readonly name: string;
}

export class Runtime {
  readonly #requestToken: string;
  readonly #streams: Streams;
  #client: Promise<SandboxClient> | undefined;

  constructor({ requestToken }: Session, streams: Streams) {
    [this.#requestToken, this.#streams] = [requestToken, streams];
  }

  async sandbox({ namespace, name }: Place): Promise<RunningSandbox> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return (await this.#client).handle(name, { namespace });
  }

  /** Reports when the stream of a process begins and when it was lost. The SDK continues a lost stream by itself. */
  async watchedSandbox({ namespace, name }: Place, onConnection: OnConnection): Promise<RunningSandbox> {
    return (await this.#connect(onConnection)).handle(name, { namespace });
  }

  async #connect(onConnection?: OnConnection): Promise<SandboxClient> {
    const { connect } = await tryAgain(() => import("@agent-sandbox/sdk"));
    return connect({
      router: `${location.origin}/runtime`,
      token: this.#requestToken,
      fetch: streamFetch(this.#streams, onConnection),
    });
  }
}
