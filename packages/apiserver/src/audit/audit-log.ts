import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { WatchEvent } from "@agent-sandbox/kube";
import type { Identity } from "../auth/identity.ts";
import type { AccessObserver } from "../authorization/access-control.ts";
import type { Decision } from "../authorization/authorizer.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { ApiRequest, Reply } from "../request/api-request.ts";
import { type AuditedRequest, type AuditLevel, auditEvent } from "./audit-event.ts";
import { RotatingFile } from "./rotating-file.ts";

export interface AuditOptions {
  /** The file, which gets one line of JSON for each request: an Event of `audit.k8s.io/v1`. */
  readonly path: string;
  /** `Request` adds the request body, but never of kinds that hold secrets. Default: `Metadata`. */
  readonly level?: AuditLevel | undefined;
  /** Default: 100 MiB. */
  readonly maxBytes?: number | undefined;
  /** The number of files to keep, including the current one. Default: 5. */
  readonly maxFiles?: number | undefined;
}

/** The parts of a request that are recorded. */
type Recorded = Pick<ApiRequest, "method" | "url" | "headers" | "body" | "identity" | "sourceAddress">;

/** Records each request with its user and its result. */
export class AuditLog {
  readonly #level: AuditLevel;
  readonly #file: RotatingFile;
  readonly #clock: Clock;

  private constructor(level: AuditLevel, file: RotatingFile, clock: Clock) {
    this.#level = level;
    this.#file = file;
    this.#clock = clock;
  }

  /** Returns a log that records nothing at level `None`. Fails when the file cannot be opened. */
  static async open(
    options: AuditOptions | undefined,
    { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
  ): Promise<AuditLog | undefined> {
    const { path = "", level = "Metadata", maxBytes = 100 * 1024 * 1024, maxFiles = 5 } = options ?? {};
    if (options === undefined || level === "None") return undefined;
    return new AuditLog(level, await RotatingFile.open({ path, maxBytes, maxFiles, logger }), clock);
  }

  begin(request: Recorded): AuditRecord {
    const { method, url, headers, body, identity, sourceAddress } = request;
    const known = { method, url, userAgent: headers["user-agent"], body, identity, sourceAddress };
    return new AuditRecord({ auditId: randomUUID(), receivedAtMs: this.#clock.now(), ...known }, (ended) =>
      this.#write({ ...ended, endedAtMs: this.#clock.now() }),
    );
  }

  /** Records a request that failed authentication. */
  unauthenticated({ method = "", url = "", headers, socket }: IncomingMessage): void {
    const atMs = this.#clock.now();
    const known = { method, url, userAgent: headers["user-agent"], sourceAddress: socket.remoteAddress };
    this.#write({ auditId: randomUUID(), ...known, receivedAtMs: atMs, endedAtMs: atMs, code: 401 });
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #write(request: AuditedRequest): void {
    this.#file.append(JSON.stringify(auditEvent(this.#level, request)));
  }
}

type Begun = Omit<AuditedRequest, "endedAtMs" | "code" | "answer">;

/** The record of one request that is being handled. */
export class AuditRecord implements AccessObserver {
  #request: Begun;
  readonly #end: (request: Omit<AuditedRequest, "endedAtMs">) => void;

  constructor(request: Begun, end: (request: Omit<AuditedRequest, "endedAtMs">) => void) {
    this.#request = request;
    this.#end = end;
  }

  impersonated(identity: Identity): void {
    this.#request = { ...this.#request, impersonated: identity };
  }

  decided(decision: Decision): void {
    this.#request = { ...this.#request, decision };
  }

  /** Records the end of the request: for a watch, when its stream ends. Returns the reply with the audit ID in a header. */
  answered(reply: Reply): Reply {
    const headers = { ...reply.headers, "audit-id": this.#request.auditId };
    if (reply.kind === "watch") return { ...reply, headers, events: this.#watched(reply.events, reply.status) };
    this.ended(reply.status, reply.kind === "object" ? reply.body : undefined);
    return { ...reply, headers };
  }

  ended(code: number, answer?: unknown): void {
    this.#end({ ...this.#request, code, answer });
  }

  async *#watched(events: AsyncIterable<readonly WatchEvent[]>, code: number): AsyncGenerator<readonly WatchEvent[]> {
    try {
      yield* events;
    } finally {
      this.ended(code);
    }
  }
}
