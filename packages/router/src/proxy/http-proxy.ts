import type { Observer } from "../observe/observer.ts";
import { pathOf, type Visit } from "../observe/visit.ts";
import { RouterError } from "../router-error.ts";
import type { Guest, Reading } from "./front-door.ts";
import type { GrpcProxy } from "./grpc-proxy.ts";
import type { Incoming } from "./incoming.ts";
import type { OwnRoutes } from "./own-routes.ts";
import { Passage, type PassageOptions } from "./passage.ts";
import { sendError, sendGrpcError } from "./send-error.ts";

export interface HttpProxyOptions extends PassageOptions {
  readonly grpc: GrpcProxy;
  readonly own: OwnRoutes;
  readonly observer: Observer;
}

/** Answers HTTP requests: its own few, and those it passes on. */
export class HttpProxy {
  readonly #options: HttpProxyOptions;

  constructor(options: HttpProxyOptions) {
    this.#options = options;
  }

  handle(incoming: Incoming): void {
    const { observer, door } = this.#options;
    const { method, url, rawHeaders, channel, needsHost } = incoming;
    const visit = observer.begin(method, pathOf(url), channel.peer);
    try {
      const knock = { method, url, rawHeaders, ...channel, isUpgrade: false, needsHost };
      this.#serve(door.read(knock, visit), incoming, visit);
    } catch (error) {
      this.#end(incoming, visit, error);
    }
  }

  #serve(reading: Reading, incoming: Incoming, visit: Visit): void {
    const { own, door } = this.#options;
    const { route } = reading;
    if (route === undefined || own.answers(reading))
      return this.#follow(own.handle(reading, incoming, visit), incoming, visit);
    // It would show the caller what the router adds for the sandbox alone.
    if (reading.knock.method === "TRACE") throw new RouterError("MethodNotAllowed", "Method not allowed here: TRACE");
    const admitted = door.admit(reading, route, visit);
    if (!(admitted instanceof Promise)) return this.#pass(admitted, incoming, visit);
    admitted
      .then((guest) => this.#pass(guest, incoming, visit))
      .catch((error: unknown) => this.#end(incoming, visit, error));
  }

  #pass(guest: Guest, incoming: Incoming, visit: Visit): void {
    if (isGrpc(incoming)) {
      const served = this.#options.grpc.serve(guest, incoming, visit).finally(() => guest[Symbol.dispose]());
      return this.#follow(served, incoming, visit);
    }
    new Passage(this.#options, guest, { incoming, visit, onEnd: this.#end }).start();
  }

  #follow(work: Promise<void>, incoming: Incoming, visit: Visit): void {
    work.then(
      () => this.#end(incoming, visit, undefined),
      (error: unknown) => this.#end(incoming, visit, error),
    );
  }

  readonly #end = (incoming: Incoming, visit: Visit, error: unknown): void => {
    if (error !== undefined) this.#fail(error, incoming, visit);
    this.#options.observer.finish(visit);
  };

  #fail(error: unknown, incoming: Incoming, visit: Visit): void {
    const { answer, body } = incoming;
    const refusal = this.#options.observer.failed(visit, error, answer);
    if (refusal === undefined) return answer.destroy();
    body?.abandon();
    (isGrpc(incoming) ? sendGrpcError : sendError)(answer, refusal, visit.requestId);
  }
}

function isGrpc({ http2 }: Incoming): boolean {
  return http2?.request.headers["content-type"]?.startsWith("application/grpc") === true;
}
