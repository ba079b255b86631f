import { SandboxError } from "@agent-sandbox/sdk";
import {
  ApiServer,
  Deadline,
  type ObjectName,
  Router,
  readText,
  type SendHttp,
  type Servers,
} from "@agent-sandbox/sdk/internal";
import type { Caller } from "./caller.ts";

export interface CallerOptions extends Pick<Caller, "user" | "workspace"> {
  readonly send: SendHttp;
  readonly servers: Servers;
}

export function callerOf({ send, servers, ...who }: CallerOptions): Caller {
  const { api, router, namespace } = servers;
  return {
    ...who,
    namespace,
    api: new ApiServer(send, api),
    router: new Router(send, router),
    readLog: (pod, signal) => readLog({ send, servers }, pod, signal),
  };
}

const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });

/** Asks the API server for the name of the user that the credentials belong to. */
export async function userOf(send: SendHttp, servers: Servers): Promise<string> {
  const doing = `Cannot find out the user at ${servers.api.server}`;
  const { status, text } = await ask({ send, servers }, { doing, method: "POST", path, body: review });
  if (status === 401) throw new SandboxError("Unauthenticated", `${doing}: the credentials are not valid`);
  const user = status < 300 ? nameIn(text) : undefined;
  if (user !== undefined) return user;
  throw new SandboxError("Unsupported", `${doing}: it answered ${status}; Kubernetes 1.28 or later is needed`);
}

const logQuery = "tailLines=2000&limitBytes=1048576";

async function readLog(
  connection: Connection,
  { namespace, name }: ObjectName,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pod = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
  const doing = `Cannot read the log of Pod "${name}"`;
  const { status, text } = await ask(connection, { doing, method: "GET", path: `${pod}?${logQuery}`, signal });
  if (status < 300) return text;
  if (status === 404) return undefined;
  throw new SandboxError(status === 403 ? "Forbidden" : "Unreachable", `${doing}: the API server answered ${status}`);
}

interface Connection {
  readonly send: SendHttp;
  readonly servers: Servers;
}

interface Question {
  readonly doing: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

const answerMs = 15_000;

/** Calls of the API server that the SDK does not make. */
async function ask(
  { send, servers: { api } }: Connection,
  { doing, method, path: target, body, signal }: Question,
): Promise<{ readonly status: number; readonly text: string }> {
  using deadline = new Deadline({ signal }, answerMs, doing);
  const { headers, tls } = await api.authorize(false);
  const response = await send({
    method,
    url: `${api.server}${target}`,
    headers: {
      accept: "application/json, */*",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body }),
    signal: deadline.signal,
    tls,
  }).catch((cause: unknown) => {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new SandboxError("Unreachable", `${doing}: ${problem}`, { cause });
  });
  return { status: response.status, text: await readText(response.body) };
}

function nameIn(text: string): string | undefined {
  try {
    const { status } = JSON.parse(text) as {
      readonly status?: { readonly userInfo?: { readonly username?: unknown } };
    };
    const name = status?.userInfo?.username;
    return typeof name === "string" && name !== "" ? name : undefined;
  } catch {
    return undefined;
  }
}
