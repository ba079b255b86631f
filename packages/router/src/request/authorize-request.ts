import type { Sandbox } from "@agent-sandbox/api";
import type { Authorizer } from "../auth/authorizer.ts";
import type { Caller } from "../auth/caller.ts";
import type { Route } from "../route/route.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ClientRequest } from "./client-request.ts";
import { credentialsOf } from "./credentials.ts";
import type { ParsedRequest } from "./parse-request.ts";
import type { Reauthorizer } from "./reauthorizer.ts";
import type { SandboxResolver } from "./resolve-sandbox.ts";

export interface RequestAuthorizerOptions {
  readonly authorizer: Authorizer;
  readonly resolver: SandboxResolver;
  readonly reauthorizer: Reauthorizer;
  readonly metrics: Metrics;
}

export interface AuthorizationRequest {
  readonly client: ClientRequest;
  readonly request: ParsedRequest;
  readonly route: Route;
}

/** Authenticates the caller of a request and checks that it may connect to the sandbox. */
export class RequestAuthorizer {
  readonly #options: RequestAuthorizerOptions;

  constructor(options: RequestAuthorizerOptions) {
    this.#options = options;
  }

  /**
   * Returns the caller, without a promise unless the API server must be asked. Throws or rejects with
   * `Unauthenticated` or `Forbidden`. `sandbox` is undefined when the route names no Sandbox that exists.
   */
  authorize(
    { client, request, route }: AuthorizationRequest,
    sandbox: Sandbox | undefined,
    record: AccessRecord,
  ): Caller | Promise<Caller> {
    const { authorizer, metrics } = this.#options;
    const allow = (caller: Caller): Caller => {
      metrics.decided(record.namespace, "allow");
      return caller;
    };
    const deny = (error: unknown): never => {
      metrics.decided(record.namespace, "deny");
      throw error;
    };
    try {
      const caller = authorizer.authorize({ credentials: credentialsOf(client, request, route), route, sandbox });
      return caller instanceof Promise ? caller.then(allow, deny) : allow(caller);
    } catch (error) {
      return deny(error);
    }
  }

  /** Cancels the request when its caller loses access to the sandbox, until disposed. */
  watch({ client, request, route }: AuthorizationRequest): Disposable {
    const { authorizer, resolver, reauthorizer } = this.#options;
    const check = (): unknown =>
      authorizer.authorize({
        credentials: credentialsOf(client, request, route),
        route,
        sandbox: resolver.find(route),
      });
    return reauthorizer.watch(check, client.cancellation);
  }
}
