import type { Deadline } from "../deadline.ts";
import { type ErrorReason, SandboxError } from "../errors.ts";
import {
  type HttpRequest,
  type HttpResponse,
  type HttpTls,
  isReading,
  readErrorText,
  readText,
  type SendHttp,
} from "../http/exchange.ts";
import { readJsonLines } from "../http/lines.ts";
import { retry, TransientError } from "../retry.ts";
import type { KubeObject, Resource } from "./resources.ts";

/** Where the API server is, and as whom to talk to it. */
export interface ApiAccess {
  readonly server: string;
  /** The headers and TLS settings of a request. `isRefused` says that the server has rejected the last ones. */
  authorize(
    isRefused: boolean,
  ): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly tls?: HttpTls }>;
}

interface Call {
  readonly doing: string;
  readonly deadline: Deadline;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly isRepeatable?: boolean;
}

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

export interface ListQuery {
  readonly namespace: string;
  readonly labelSelector?: string;
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** The calls of the Kubernetes API that the SDK makes. */
export class ApiServer {
  readonly #send: SendHttp;
  readonly #access: ApiAccess;

  constructor(send: SendHttp, access: ApiAccess) {
    this.#send = send;
    this.#access = access;
  }

  get<T extends KubeObject>(resource: Resource<T>, name: ObjectName, deadline: Deadline): Promise<T> {
    const doing = `Cannot get ${resource.kind} "${name.name}"`;
    return this.#json({ doing, deadline, method: "GET", path: pathOf(resource, name), isRepeatable: true });
  }

  async list<T extends KubeObject>(resource: Resource<T>, query: ListQuery, deadline: Deadline): Promise<T[]> {
    return (await this.snapshot(resource, query, deadline)).items;
  }

  /** All objects, and the version from which on a watch shows their changes. */
  async snapshot<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, labelSelector }: ListQuery,
    deadline: Deadline,
  ): Promise<{ readonly items: T[]; readonly resourceVersion: string }> {
    const items: T[] = [];
    for (let next = ""; ; ) {
      const query = new URLSearchParams({
        limit: "500",
        ...(labelSelector && { labelSelector }),
        ...(next && { continue: next }),
      });
      const path = `${pathOf(resource, { namespace })}?${query.toString()}`;
      const doing = `Cannot list ${resource.plural}`;
      const page = await this.#json<{ items?: T[]; metadata?: { continue?: string; resourceVersion?: string } }>({
        doing,
        deadline,
        method: "GET",
        path,
        isRepeatable: true,
      });
      items.push(...(page.items ?? []));
      next = page.metadata?.continue ?? "";
      if (next === "") return { items, resourceVersion: page.metadata?.resourceVersion ?? "0" };
    }
  }

  /** A create that is repeated fails with `AlreadyExists` if the first one had an effect. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, deadline: Deadline): Promise<T> {
    const { name = "", namespace = "" } = object.metadata;
    const doing = `Cannot create ${resource.kind} "${name}"`;
    const path = pathOf(resource, { namespace });
    return this.#json({ doing, deadline, method: "POST", path, body: JSON.stringify(object), isRepeatable: true });
  }

  /** A JSON merge patch, which has the same effect if it is sent twice. */
  patch<T extends KubeObject>(resource: Resource<T>, name: ObjectName, patch: object, deadline: Deadline): Promise<T> {
    const doing = `Cannot change ${resource.kind} "${name.name}"`;
    const contentType = "application/merge-patch+json";
    const call = { doing, deadline, method: "PATCH", path: pathOf(resource, name), contentType, isRepeatable: true };
    return this.#json({ ...call, body: JSON.stringify(patch) });
  }

  /** Deletes the object with this UID. Succeeds if it is already gone. */
  async delete<T extends KubeObject>(
    resource: Resource<T>,
    name: ObjectName & { readonly uid?: string | undefined },
    deadline: Deadline,
  ): Promise<void> {
    const doing = `Cannot delete ${resource.kind} "${name.name}"`;
    const body = JSON.stringify(name.uid === undefined ? {} : { preconditions: { uid: name.uid } });
    try {
      await this.#json({ doing, deadline, method: "DELETE", path: pathOf(resource, name), body, isRepeatable: true });
    } catch (error) {
      const isGone =
        error instanceof SandboxError && (error.reason === "NotFound" || error.serverReason === "Conflict");
      if (!isGone) throw error;
    }
  }

  /** The states of one object, or of all without a name, from this version on, until the connection ends or the deadline has passed. */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, name }: Partial<ObjectName> & Pick<ObjectName, "namespace">,
    { resourceVersion, deadline }: { readonly resourceVersion: string; readonly deadline: Deadline },
  ): AsyncGenerator<WatchEvent<T>> {
    const selector = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
    const query = new URLSearchParams({ watch: "true", resourceVersion, ...selector });
    const path = `${pathOf(resource, { namespace })}?${query.toString()}`;
    const doing = name === undefined ? `Cannot watch ${resource.plural}` : `Cannot watch ${resource.kind} "${name}"`;
    const response = await this.#exchange({ doing, deadline, method: "GET", path, isRepeatable: true });
    yield* readJsonLines<WatchEvent<T>>(response.body);
  }

  async #json<T>(call: Call): Promise<T> {
    const response = await this.#exchange(call);
    return JSON.parse(await readText(response.body)) as T;
  }

  #exchange(call: Call): Promise<HttpResponse> {
    const { deadline, doing, isRepeatable = false, method } = call;
    let isRefused = false;
    return retry(
      async () => {
        const response = await this.#send(await this.#requestOf(call, isRefused));
        if (response.status < 400) return response;
        const error = errorOf(response, await readErrorText(response), doing);
        // A token may have been renewed since it was read.
        if (error.reason !== "Unauthenticated" || isRefused) throw error;
        isRefused = true;
        const again = await this.#send(await this.#requestOf(call, true));
        if (again.status < 400) return again;
        throw errorOf(again, await readErrorText(again), doing);
      },
      { deadline, isRepeatable, isRead: isReading(method), doing },
    );
  }

  async #requestOf({ method, path, body, contentType, deadline }: Call, isRefused: boolean): Promise<HttpRequest> {
    const { headers, tls } = await this.#access.authorize(isRefused);
    const type = body === undefined ? {} : { "content-type": contentType ?? "application/json" };
    return {
      method,
      url: `${this.#access.server}${path}`,
      headers: {
        accept: "application/json",
        "user-agent": "agent-sandbox-sdk",
        ...type,
        ...deadline.headers,
        ...headers,
      },
      signal: deadline.signal,
      tls,
      ...(body !== undefined && { body }),
    };
  }
}

function pathOf<T extends KubeObject>(
  { apiVersion, plural }: Resource<T>,
  { namespace, name }: { readonly namespace: string; readonly name?: string },
): string {
  const collection = `/apis/${apiVersion}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
  return name === undefined ? collection : `${collection}/${encodeURIComponent(name)}`;
}

const reasons: Readonly<Record<number, ErrorReason>> = {
  400: "InvalidArgument",
  401: "Unauthenticated",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Conflict",
  413: "LimitExceeded",
  415: "Unsupported",
  422: "InvalidArgument",
};

function errorOf({ status }: HttpResponse, body: string, doing: string): SandboxError {
  const { message, reason: serverReason } = statusOf(body);
  const details = { status, body, ...(serverReason !== undefined && { serverReason }) };
  const text = `${doing}: ${message ?? `the API server answered ${status}`}`;
  if (status === 429 || status === 503) return new TransientError("Unreachable", text, { ...details, sent: false });
  if (status === 500 || status === 502 || status === 504)
    return new TransientError("Unreachable", text, { ...details, sent: true });
  if (serverReason === "AlreadyExists") return new SandboxError("AlreadyExists", text, details);
  // Quotas are refused by admission.
  if (status === 403 && /exceeded quota/.test(message ?? "")) return new SandboxError("LimitExceeded", text, details);
  return new SandboxError(reasons[status] ?? "Internal", text, details);
}

function statusOf(body: string): { readonly message?: string; readonly reason?: string } {
  try {
    const { message, reason } = JSON.parse(body) as { message?: unknown; reason?: unknown };
    return { ...(typeof message === "string" && { message }), ...(typeof reason === "string" && { reason }) };
  } catch {
    return {};
  }
}
