import { isConditionTrue, type Sandbox, sleepReason } from "@agent-sandbox/api";
import { annotationOf, sandboxUidAnnotation } from "../../cluster/compat-annotations.ts";
import { patchClaim } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { requireConnect } from "../../control/require-connect.ts";
import { requireMachine } from "../../control/require-machine.ts";
import { sendJson } from "../../http/reply.ts";
import { restPort, rpcPort } from "../../runtime/runtime.ts";
import { endpointPath } from "../endpoint-path.ts";
import { invalidParameter, OpenSandboxError } from "../failure.ts";
import { execdPort, portToken } from "../ports.ts";
import { signEndpoint } from "../signed-endpoint.ts";
import type { LifecycleCall } from "./context.ts";

/** Clients give up after 30 s. */
const holdMs = 25_000;

/** `GET /v1/sandboxes/{id}/endpoints/{port}`: an address of this listener, and the header or signature that opens it. */
export async function endpoint(call: LifecycleCall): Promise<void> {
  const { context, query, params, response, account } = call;
  const port = readPort(params[1] ?? "");
  const expires = readExpires(query, context.now());
  const machine = await requireMachine(call);
  await requireConnect(call, machine.sandbox?.metadata.name ?? "");
  const sandbox = await started(call, machine);
  const { namespace } = account;
  const { name } = machine;
  const host = addressFor(call);
  if (expires !== undefined) {
    const signature = signEndpoint(context.tokens, sandbox, { namespace, name, port, expires });
    sendJson(response, 200, { endpoint: host + endpointPath({ namespace, name, port, link: { expires, signature } }) });
    return;
  }
  const token = portToken(context.tokens, sandbox, { namespace, name }, port);
  const headers = { "X-EXECD-ACCESS-TOKEN": token };
  // The Python client reads the network policy of such a sandbox from this API.
  const origin: Record<string, string> =
    machine.claim === undefined || port !== execdPort ? {} : { "open-sandbox-origin": "template" };
  sendJson(
    response,
    200,
    { endpoint: host + endpointPath({ namespace, name, port, link: undefined }), headers },
    origin,
  );
}

function readPort(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw invalidParameter("The port can be 1 to 65535");
  // A link to it would open the whole sandbox.
  if (port === restPort || port === rpcPort) {
    throw invalidParameter(`Port ${port} belongs to the runtime of the sandbox: let the server listen on another one`);
  }
  return port;
}

function readExpires(query: URLSearchParams, nowMs: number): number | undefined {
  const text = query.get("expires");
  if (text === null || text === "") return undefined;
  if (query.get("use_server_proxy") === "true") throw invalidParameter("use_server_proxy cannot be used with expires");
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : 0;
  if (seconds * 1000 <= nowMs) throw invalidParameter("expires must be a time in the future, in seconds since 1970");
  return seconds;
}

/**
 * The Sandbox, when it is ready. Only one client asks again if the answer is an error, so the request waits for a Sandbox that is
 * starting. One that takes longer is answered as well: the client then waits for its daemon.
 */
async function started(call: LifecycleCall, machine: Machine): Promise<Sandbox> {
  const { context, account } = call;
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(holdMs)]);
  const sandbox = machine.sandbox ?? (await bound(call, machine, signal));
  if (sleepReason(sandbox) === undefined && !isConditionTrue(sandbox.status?.conditions, "Finished")) {
    await context.directory.untilTrue(sandbox, "Ready", signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
  const { claim } = machine;
  if (claim !== undefined && annotationOf(claim, sandboxUidAnnotation) === undefined) {
    const annotations = { [sandboxUidAnnotation]: sandbox.metadata.uid };
    await patchClaim(account.client, claim, { metadata: { annotations } });
  }
  return sandbox;
}

async function bound({ context }: LifecycleCall, { claim, name }: Machine, signal: AbortSignal): Promise<Sandbox> {
  try {
    if (claim === undefined) throw new Error("A machine is a claim or a Sandbox");
    return await context.directory.untilBound(claim, signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    const message = `Sandbox ${name} has no address yet`;
    throw new OpenSandboxError(404, "KUBERNETES::POD_IP_NOT_AVAILABLE", message, { cause });
  }
}

const hostShape = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Where the client reached this listener. */
function addressFor({ request, context }: LifecycleCall): string {
  const { host = "" } = request.headers;
  return hostShape.test(host) ? host : context.address();
}
