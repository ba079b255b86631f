import type { ListOptions, ObjectList } from "../client.ts";
import { isReason, KubeError } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { withType } from "./typed-object.ts";

/** One page as the server sent it. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
}

/** 5 million objects in pages of 500. A server that continues longer returns its tokens in a cycle. */
const mostPages = 10_000;
/** A token expires when paging takes longer than the server keeps history. After this many attempts, list without pages. */
const pagedAttempts = 2;
const defaultPageSize = 500;

type FetchPage<T> = (limit: number | undefined, continueToken: string | undefined) => Promise<Page<T>>;

/** Collects all pages of a list. All pages have the version of the first one. */
export async function gatherPages<T extends KubeObject>(
  resource: Resource<T>,
  options: ListOptions,
  steps: { readonly fetch: FetchPage<T>; readonly transform?: ((object: T) => T) | undefined },
): Promise<ObjectList<T>> {
  const { limit = defaultPageSize } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await gatherOnce(resource, attempt > pagedAttempts ? undefined : limit, steps);
    } catch (error) {
      if (!isReason(error, "Expired", "Gone") || attempt > pagedAttempts) throw error;
    }
  }
}

async function gatherOnce<T extends KubeObject>(
  resource: Resource<T>,
  limit: number | undefined,
  steps: { readonly fetch: FetchPage<T>; readonly transform?: ((object: T) => T) | undefined },
): Promise<ObjectList<T>> {
  const items: T[] = [];
  let page = await steps.fetch(limit, undefined);
  const { resourceVersion } = page;
  for (let pages = 1; ; pages += 1) {
    for (const item of page.items) {
      const whole = withType(resource, item);
      items.push(steps.transform ? steps.transform(whole) : whole);
    }
    const { continueToken } = page;
    if (continueToken === undefined) return { items, resourceVersion };
    if (pages >= mostPages) {
      throw new KubeError("InvalidResponse", `Cannot list ${resource.plural}: no end after ${mostPages} pages`);
    }
    page = await steps.fetch(limit, continueToken);
  }
}

/** Checks that a response is a page of objects. */
export function readPage<T extends KubeObject>(resource: Resource<T>, body: unknown): Page<T> {
  const { items, metadata } = (body ?? {}) as {
    items?: readonly T[] | null;
    metadata?: { resourceVersion?: string; continue?: string };
  };
  const isList = (items === null || Array.isArray(items)) && typeof metadata?.resourceVersion === "string";
  if (!isList) {
    const shown = JSON.stringify(body)?.slice(0, 200);
    throw new KubeError(
      "InvalidResponse",
      `Cannot list ${resource.plural}: the server did not return a list: ${shown}`,
    );
  }
  const { resourceVersion = "" } = metadata;
  return { items: items ?? [], resourceVersion, continueToken: metadata.continue || undefined };
}
