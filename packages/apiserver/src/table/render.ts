import type { WatchEvent } from "@agent-sandbox/kube";
import { badRequest } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Representation } from "../request/negotiation.ts";
import { partialObject } from "../request/partial-metadata.ts";
import type { Query } from "../request/query.ts";
import type { Target } from "../request/target.ts";
import type { Column } from "../resources/definition.ts";

type Tabular = Extract<Representation, { apiVersion: string }>;

interface RenderOptions {
  readonly query: Query;
  readonly representation: Tabular;
  readonly nowMs: number;
}

interface ListLike {
  readonly items: readonly ApiObject[];
  readonly metadata: object;
}

/** The parts of a Table that are used here. */
interface Table {
  readonly rows: readonly object[];
}

export function renderList(target: Target, { items, metadata }: ListLike, options: RenderOptions): Table {
  return tableOf(target, items, { ...options, metadata });
}

export function renderObject(target: Target, object: ApiObject, options: RenderOptions): object {
  return tableOf(target, [object], { ...options, metadata: { resourceVersion: object.metadata.resourceVersion } });
}

/** Each event contains a table with one row. Only the first one has column definitions. */
export async function* renderWatch(
  target: Target,
  events: AsyncIterable<readonly WatchEvent[]>,
  { nowMs, ...options }: Omit<RenderOptions, "nowMs"> & { readonly nowMs: () => number },
): AsyncGenerator<readonly WatchEvent[]> {
  let columns = true;
  for await (const batch of events) {
    yield batch.map((event) => {
      if (event.type === "ERROR") return event;
      const table = renderObject(target, event.object as ApiObject, { ...options, nowMs: nowMs() });
      const shown = columns ? table : { ...table, columnDefinitions: null };
      columns = false;
      return { type: event.type, object: shown };
    });
  }
}

function tableOf(target: Target, items: readonly ApiObject[], options: RenderOptions & { metadata: object }): Table {
  const { columns } = target.version;
  const shown = columns.some(({ isName }) => isName === true) ? columns : [nameColumn, ...columns];
  const { apiVersion } = options.representation;
  const include = includedPart(options.query);
  const included = (object: ApiObject): object | null => {
    if (include === "None") return null;
    return include === "Object" ? object : partialObject(object, apiVersion);
  };
  const table = {
    kind: "Table",
    apiVersion,
    metadata: options.metadata,
    columnDefinitions: shown.map(definitionOf),
    rows: items.map((object) => ({
      cells: shown.map((column) => column.cell(object, options.nowMs)),
      object: included(object),
    })),
  };
  return table;
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

type Included = "None" | "Metadata" | "Object";

function includedPart(query: Query): Included {
  const asked = query.text("includeObject") || "Metadata";
  if (asked === "None" || asked === "Metadata" || asked === "Object") return asked;
  const why = "must be 'Metadata', 'Object', 'None', or empty";
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(asked)}: ${why}`,
  );
}
