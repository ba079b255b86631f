/**
 * Calls of the Kubernetes API as the user of the session, through the dashboard's own origin. Errors are `ApiError`s with the
 * message of the API server. When a call finds that the session has ended, `onSignedOut` is called, and the call fails.
 */
import { type KubeObject, pathOf, type Resource } from "./resources.ts";
import { tryAgain } from "./try-again.ts";

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    [this.status, this.reason] = [status, reason];
  }
}

export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: string;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

interface WriteOptions {
  /** Default: false. The server then validates the request, and changes nothing. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

export interface PatchOptions extends WriteOptions {
  /** Default: a merge patch. */
  readonly type?: "merge" | "json" | "apply";
}

const patchTypes = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** Lists are read in pages, so that no response is larger than a few megabytes. */
const pageSize = 500;

interface WireList<T> {
  readonly items?: readonly T[] | null;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

export class ApiClient {
  readonly #token: string;
  readonly #onSignedOut: () => void;

  constructor(requestToken: string, onSignedOut: () => void) {
    [this.#token, this.#onSignedOut] = [requestToken, onSignedOut];
  }

  get<T extends KubeObject>(resource: Resource<T>, name: ObjectName, signal?: AbortSignal): Promise<T> {
    return this.request("GET", pathOf(resource, name), signal && { signal });
  }

  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: {
      readonly namespace?: string | undefined;
      readonly fieldSelector?: string | undefined;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<ListPage<T>> {
    const { namespace, fieldSelector, signal } = options;
    const items: T[] = [];
    let from: string | undefined;
    for (;;) {
      const query = new URLSearchParams({ limit: String(pageSize) });
      if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
      if (from !== undefined) query.set("continue", from);
      const path = `${pathOf(resource, { namespace })}?${query}`;
      const page = await this.request<WireList<T>>("GET", path, signal && { signal });
      for (const item of page.items ?? []) items.push(item);
      from = page.metadata?.continue;
      if (!from) return { items, resourceVersion: page.metadata?.resourceVersion ?? "" };
    }
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = pathOf(resource, { namespace: object.metadata?.namespace });
    return this.request("POST", path + queryOf(options), { body: object, ...signalOf(options) });
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    name: ObjectName,
    body: object,
    options: PatchOptions = {},
  ): Promise<T> {
    const { type = "merge" } = options;
    const query = type === "apply" ? { fieldManager: "agent-sandbox-dashboard", force: "true" } : {};
    const contentType = patchTypes[type];
    return this.request("PATCH", pathOf(resource, name) + queryOf(options, query), {
      body,
      contentType,
      ...signalOf(options),
    });
  }

  /** Server-side apply of an object with a name: creates or changes it. */
  apply<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name = "" } = object.metadata ?? {};
    return this.patch(resource, { namespace, name }, object, { ...options, type: "apply" });
  }

  /** `uid`: deletes only that object, not a newer one with the same name. */
  async delete(
    resource: Resource<unknown>,
    name: ObjectName,
    options: WriteOptions & { readonly uid?: string | undefined } = {},
  ): Promise<void> {
    const { uid } = options;
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...(uid !== undefined && { preconditions: { uid } }) };
    await this.request("DELETE", pathOf(resource, name) + queryOf(options), { body, ...signalOf(options) });
  }

  /** Sends any request of the Kubernetes API and reads its JSON. */
  async request<T>(
    method: string,
    path: string,
    options: { readonly body?: unknown; readonly contentType?: string; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    const response = await this.fetch(method, `/kube${path}`, options);
    return (await response.json()) as T;
  }

  /** Sends a request of the dashboard itself, such as `/runtime/…`. Rejects if the status is not 2xx. */
  async fetch(
    method: string,
    url: string,
    options: { readonly body?: unknown; readonly contentType?: string; readonly signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { body, contentType = "application/json", signal } = options;
    const send = (): Promise<Response> =>
      fetch(url, {
        method,
        headers: {
          accept: "application/json",
          authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { "content-type": contentType }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
        redirect: "error",
      });
    const response = await (method === "GET" ? tryAgain(send) : send());
    if (response.ok) return response;
    if (response.status === 401) this.#onSignedOut();
    throw await failureOf(response);
  }
}

function queryOf({ dryRun }: WriteOptions, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams({ ...more, ...(dryRun === true && { dryRun: "All" }) }).toString();
  return query === "" ? "" : `?${query}`;
}

const signalOf = ({ signal }: WriteOptions): { signal?: AbortSignal } => (signal === undefined ? {} : { signal });

async function failureOf(response: Response): Promise<ApiError> {
  const said = (await response.json().catch(() => ({}))) as { readonly message?: unknown; readonly reason?: unknown };
  const message = typeof said.message === "string" ? said.message : `the server answered ${response.status}`;
  return new ApiError(response.status, typeof said.reason === "string" ? said.reason : "", message);
}
