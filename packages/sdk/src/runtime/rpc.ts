import type { Deadline } from "../deadline.ts";
import { type ErrorReason, SandboxError } from "../errors.ts";
import { type HttpResponse, readText } from "../http/exchange.ts";
import type { Router, Target } from "./router.ts";

const port = 9090;

export interface RpcCall {
  readonly doing: string;
  readonly deadline: Deadline;
  readonly method: string;
  readonly message: object;
  readonly isRepeatable: boolean;
}

/** Calls a method of `process.v1.ProcessService` with the Connect protocol, which works over any HTTP client. */
export async function callUnary<T>(router: Router, target: Target, call: RpcCall): Promise<T> {
  const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
  const response = await send(router, target, { ...call, headers, body: JSON.stringify(call.message) });
  return JSON.parse(await readText(response.body)) as T;
}

/**
 * Calls a method that returns a stream. The deadline is for opening it. Ends without an error only if the stream is complete.
 */
export async function* callStream<T>(router: Router, target: Target, call: RpcCall): AsyncGenerator<T> {
  const headers = { "content-type": "application/connect+json", "connect-protocol-version": "1" };
  const response = await send(router, target, { ...call, headers, body: envelope(JSON.stringify(call.message)) });
  call.deadline.disarm();
  for await (const { isLast, text } of readEnvelopes(response.body)) {
    if (!isLast) {
      yield JSON.parse(text) as Awaited<T>;
      continue;
    }
    const { error } = JSON.parse(text) as { readonly error?: RpcError };
    if (error === undefined) return;
    throw errorOf(error, undefined, call.doing);
  }
  throw new SandboxError("Internal", `${call.doing}: the stream has no end`);
}

function send(
  router: Router,
  target: Target,
  {
    doing,
    deadline,
    method,
    isRepeatable,
    headers,
    body,
  }: RpcCall & { headers: Record<string, string>; body: string | Uint8Array<ArrayBuffer> },
): Promise<HttpResponse> {
  const refuse = ({ status }: HttpResponse, text: string): SandboxError => errorOf(parseError(text), status, doing);
  const path = `/process.v1.ProcessService/${method}`;
  return router.request(target, { doing, deadline, port, method: "POST", path, headers, body, isRepeatable, refuse });
}

interface RpcError {
  readonly code?: string;
  readonly message?: string;
}

function parseError(text: string): RpcError {
  try {
    return JSON.parse(text) as RpcError;
  } catch {
    return {};
  }
}

const reasons: Readonly<Record<string, ErrorReason>> = {
  not_found: "NotFound",
  invalid_argument: "InvalidArgument",
  failed_precondition: "Conflict",
  aborted: "OutcomeUnknown",
  permission_denied: "Forbidden",
  unauthenticated: "Unauthenticated",
  resource_exhausted: "LimitExceeded",
  deadline_exceeded: "TimedOut",
  unimplemented: "Unsupported",
  unavailable: "Unreachable",
};

function errorOf({ code, message }: RpcError, status: number | undefined, doing: string): SandboxError {
  const text = `${doing}: ${message ?? `the sandbox answered ${status}; does it run sandboxd?`}`;
  return new SandboxError(reasons[code ?? ""] ?? "Internal", text, {
    ...(status !== undefined && { status }),
    ...(code !== undefined && { serverReason: code }),
  });
}

/** Five bytes in front of each message: flags, and the length of the message. */
const prefixBytes = 5;
const lastFlag = 2;

/** Far above what sandboxd sends in one message. */
const largestMessageBytes = 16 * 1024 * 1024;

function envelope(text: string): Uint8Array<ArrayBuffer> {
  const message = new TextEncoder().encode(text);
  const bytes = new Uint8Array(prefixBytes + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, prefixBytes);
  return bytes;
}

async function* readEnvelopes(body: AsyncIterable<Uint8Array>): AsyncGenerator<{ isLast: boolean; text: string }> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of body) {
    rest = rest.length === 0 ? chunk : concat(rest, chunk);
    for (;;) {
      if (rest.length < prefixBytes) break;
      const length = new DataView(rest.buffer, rest.byteOffset).getUint32(1);
      if (length > largestMessageBytes)
        throw new SandboxError("Internal", `The sandbox sent a message of ${length} bytes`);
      if (rest.length < prefixBytes + length) break;
      const text = new TextDecoder().decode(rest.subarray(prefixBytes, prefixBytes + length));
      yield { isLast: ((rest[0] ?? 0) & lastFlag) !== 0, text };
      rest = rest.subarray(prefixBytes + length);
    }
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
