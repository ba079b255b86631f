import { SandboxError } from "@agent-sandbox/sdk";
import { ApiServer, Deadline, Router, readText, type SendHttp, type Servers } from "@agent-sandbox/sdk/internal";
import type { Caller } from "./caller.ts";

export interface CallerOptions extends Pick<Caller, "user" | "workspace"> {
  readonly send: SendHttp;
  readonly servers: Servers;
}

export function callerOf({ send, servers, ...who }: CallerOptions): Caller {
  const { api, router, namespace } = servers;
  return { ...who, namespace, api: new ApiServer(send, api), router: new Router(send, router) };
}

const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });
const answerMs = 15_000;

/** Asks the API server for the name of the user that the credentials belong to. */
export async function userOf(send: SendHttp, { api }: Servers): Promise<string> {
  const doing = `Cannot find out the user at ${api.server}`;
  using deadline = new Deadline({}, answerMs, doing);
  const { headers, tls } = await api.authorize(false);
  const response = await send({
    method: "POST",
    url: `${api.server}${path}`,
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: review,
    signal: deadline.signal,
    tls,
  }).catch((cause: unknown) => {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new SandboxError("Unreachable", `${doing}: ${problem}`, { cause });
  });
  const text = await readText(response.body);
  if (response.status === 401) throw new SandboxError("Unauthenticated", `${doing}: the credentials are not valid`);
  const user = response.status < 300 ? nameIn(text) : undefined;
  if (user !== undefined) return user;
  throw new SandboxError("Unsupported", `${doing}: it answered ${response.status}; Kubernetes 1.28 or later is needed`);
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
