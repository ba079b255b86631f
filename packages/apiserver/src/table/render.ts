import type { WatchEvent } from "@agent-sandbox/kube";
import type { ApiObject } from "../api-object.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Query } from "../request/query.ts";
import type { Target } from "../request/target.ts";
import type { Column } from "../resources/definition.ts";

/** Whether the client prefers a table, as `kubectl get` does: the first type it names that the server can give. */
export function wantsTable({ headers }: ApiRequest): boolean {
  for (const type of (headers["accept"] ?? "").split(",")) {
    const [media, ...parameters] = type.split(";").map((part) => part.trim());
    if (media !== "application/json" && media !== "*/*" && media !== "application/*") continue;
    const as = parameters.find((parameter) => parameter.startsWith("as="))?.slice(3);
    if (as === undefined) return false;
    if (as === "Table" && parameters.includes("v=v1") && parameters.includes("g=meta.k8s.io")) return true;
  }
  return false;
}

interface RenderOptions {
  readonly query: Query;
  readonly nowMs: number;
}

interface ListLike {
  readonly items: readonly ApiObject[];
  readonly metadata: object;
}

export function renderList(target: Target, { items, metadata }: ListLike, options: RenderOptions): object {
  return tableOf(target, items, { ...options, metadata });
}

export function renderObject(target: Target, object: ApiObject, options: RenderOptions): object {
  return tableOf(target, [object], { ...options, metadata: { resourceVersion: object.metadata.resourceVersion } });
}

/** Each event carries a table of one row; only the first one names the columns. */
export async function* renderWatch(
  target: Target,
  events: AsyncIterable<readonly WatchEvent[]>,
  { query, nowMs }: { query: Query; nowMs: () => number },
): AsyncGenerator<readonly WatchEvent[]> {
  let columns = true;
  for await (const batch of events) {
    yield batch.map((event) => {
      if (event.type === "ERROR") return event;
      const table = renderObject(target, event.object as ApiObject, { query, nowMs: nowMs() });
      const shown = columns ? table : { ...table, columnDefinitions: null };
      columns = false;
      return { type: event.type, object: shown };
    });
  }
}

function tableOf(target: Target, items: readonly ApiObject[], options: RenderOptions & { metadata: object }): object {
  const { columns } = target.version;
  const shown = columns.some(({ isName }) => isName === true) ? columns : [nameColumn, ...columns];
  const include = options.query.oneOf("includeObject", ["None", "Metadata", "Object"]) ?? "Metadata";
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.metadata,
    columnDefinitions: shown.map(definitionOf),
    rows: items.map((object) => ({
      cells: shown.map((column) => column.cell(object, options.nowMs)),
      ...(include === "None" ? {} : { object: include === "Object" ? object : partial(object) }),
    })),
  };
}

const nameColumn: Column = {
  name: "Name",
  type: "string",
  isName: true,
  cell: ({ metadata }) => metadata.name ?? "",
};

function definitionOf({ name, type, priority = 0, isName }: Column): object {
  return { name, type, format: isName === true ? "name" : "", description: "", priority };
}

function partial({ metadata }: ApiObject): object {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}
