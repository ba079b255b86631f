import { sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName, fetchJson, RefusedError, type ServedResource } from "../client/discovery.ts";
import { sandboxOfClaim } from "../client/find-sandbox.ts";
import { followTable, tableType } from "../client/follow-table.ts";
import { withResources } from "../client/known-resources.ts";
import { readKernels, readPods } from "../client/pod-runtimes.ts";
import { formatTable, GrowingTable, type Table } from "../client/table.ts";
import { hasRuntime, isSandboxes, widen } from "../client/wide-columns.ts";
import { CommandError } from "../command-error.ts";

export interface GetOptions extends GlobalOptions {
  readonly allNamespaces?: boolean;
  readonly output?: string;
  readonly selector?: string;
  readonly showManagedFields?: boolean;
  readonly watch?: boolean;
}

const outputs = ["json", "yaml", "name", "wide"];

export async function get(type: string, names: readonly string[], options: GetOptions): Promise<void> {
  const { output = "", allNamespaces = false } = options;
  if (output && !outputs.includes(output)) {
    throw new CommandError(`Cannot print as "${output}": valid formats are ${outputs.join(", ")}`);
  }
  const wanted = wantedBy(type, names);
  if (
    options.watch === true &&
    (wanted.types.length > 1 || wanted.names.length > 1 || !["", "wide"].includes(output))
  ) {
    throw new CommandError("--watch shows a table of one type, or of one object");
  }
  await using connection = await connect(options);
  if (options.watch === true) {
    // Awaited, because the connection ends with this function.
    return await withResources(connection.transport, wanted.types, async ([resource]) => {
      if (resource !== undefined) await watchTable(connection, resource, wanted.names, options);
    });
  }
  const accept = output === "" || output === "wide" ? tableType : undefined;
  // Everything is read before the first line is printed.
  const found = await withResources(connection.transport, wanted.types, (resources) =>
    Promise.all(
      resources.map(async (resource) => {
        return { resource, answers: await readAll(connection, resource, wanted.names, { options, accept }) };
      }),
    ),
  );
  for (const [index, { resource, answers }] of found.entries()) {
    if (index > 0) console.log();
    if (accept === undefined) {
      const shown = options.showManagedFields === true ? answers : answers.map((answer) => withoutManagers(answer));
      await printObjects(shown, output, resource);
    } else {
      const wide = output === "wide";
      const read = answers as readonly Table[];
      const tables = wide ? await widened(read, resource, connection, allNamespaces) : read;
      printTables(tables, { wide, namespaces: allNamespaces && resource.namespaced });
    }
  }
}

interface Reading {
  readonly options: GetOptions;
  readonly accept: string | undefined;
}

/** The list of a resource, or its objects with these names. The name of a claim stands for that of its sandbox. */
async function readAll(
  connection: Connection,
  resource: ServedResource,
  names: readonly string[],
  { options, accept }: Reading,
): Promise<readonly unknown[]> {
  const { transport, namespace } = connection;
  const read = (wanted: readonly string[]): Promise<unknown>[] =>
    pathsOf(resource, wanted, { ...options, namespace }).map((path) => fetchJson(transport, path, accept));
  if (names.length === 0 || !isSandboxes(resource)) return Promise.all(read(names));
  return Promise.all(
    names.map((name) =>
      Promise.all(read([name])).catch(async (error: unknown) => {
        if (!(error instanceof RefusedError) || error.status !== 404) throw error;
        const held = await sandboxOfClaim(connection, name);
        if (held !== undefined) return Promise.all(read([held]));
        throw new RefusedError(`${error.message}; list them with: agent-sandbox get sandboxes`, error.status);
      }),
    ),
  ).then((answers) => answers.flat());
}

/** Prints the table, and then a row for each change until this program is interrupted. */
async function watchTable(
  connection: Connection,
  resource: ServedResource,
  names: readonly string[],
  options: GetOptions,
): Promise<void> {
  const table = new GrowingTable({
    wide: options.output === "wide",
    namespaces: options.allNamespaces === true && resource.namespaced,
  });
  const [list = ""] = pathsOf(resource, [], { ...options, namespace: connection.namespace });
  const wanted = await Promise.all(names.map((name) => heldBy(connection, resource, name)));
  const query = [
    list.includes("?") ? "" : "?",
    ...wanted.map((name) => `&fieldSelector=metadata.name%3D${encodeURIComponent(name)}`),
  ];
  for await (const rows of followTable(connection.transport, `${list}${query.join("")}`)) console.log(table.add(rows));
}

/** The name of the Sandbox to watch. For the name of a claim, that of its Sandbox. Any other name is kept, because it may be created later. */
async function heldBy(connection: Connection, resource: ServedResource, name: string): Promise<string> {
  if (!isSandboxes(resource)) return name;
  const { client, namespace } = connection;
  try {
    await client.get(sandboxes, { name, namespace });
    return name;
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  return (await sandboxOfClaim(connection, name)) ?? name;
}

/** Adds the columns of wide output that need other objects. */
async function widened(
  tables: readonly Table[],
  resource: ServedResource,
  { transport, namespace }: Connection,
  allNamespaces: boolean,
): Promise<readonly Table[]> {
  if (!hasRuntime(resource)) return tables;
  const [pods, kernels] = await Promise.all([
    readPods(transport, allNamespaces ? undefined : namespace),
    readKernels(transport),
  ]);
  return tables.map((table) => widen(table, resource, { pods, kernels }));
}

/** Parses `pods`, `pods a b`, `pod/a` or `pods,services`. Names are only allowed with a single type. */
export function wantedBy(
  type: string,
  given: readonly string[],
): { readonly types: readonly string[]; readonly names: readonly string[] } {
  const [word = "", named] = type.split("/");
  const types = word.split(",");
  const names = named === undefined ? given : [named, ...given];
  if (types.length > 1 && names.length > 0) throw new CommandError("names can only be combined with a single type");
  return { types, names };
}

function pathsOf(
  resource: ServedResource,
  names: readonly string[],
  options: GetOptions & { namespace: string },
): string[] {
  const api = resource.apiVersion.includes("/") ? `/apis/${resource.apiVersion}` : `/api/${resource.apiVersion}`;
  const scoped = resource.namespaced && options.allNamespaces !== true;
  const namespace = scoped ? `/namespaces/${encodeURIComponent(options.namespace)}` : "";
  const collection = `${api}${namespace}/${resource.plural}`;
  const query = [
    ...(options.selector && names.length === 0 ? [`labelSelector=${encodeURIComponent(options.selector)}`] : []),
    // The columns of wide output are made from the whole objects.
    ...(options.output === "wide" && options.watch !== true && isSandboxes(resource) ? ["includeObject=Object"] : []),
  ].join("&");
  const paths = names.length === 0 ? [collection] : names.map((name) => `${collection}/${encodeURIComponent(name)}`);
  return query === "" ? paths : paths.map((path) => `${path}?${query}`);
}

function printTables(tables: readonly Table[], options: { wide: boolean; namespaces: boolean }): void {
  const [first] = tables;
  const rows = tables.flatMap((table) => table.rows ?? []);
  if (first === undefined || rows.length === 0) console.error("No resources found");
  else console.log(formatTable({ columnDefinitions: first.columnDefinitions, rows }, options));
}

interface Managed {
  readonly metadata?: { readonly managedFields?: unknown };
  readonly items?: readonly Managed[];
}

/** An object, or the objects of a list, without `managedFields`: they hide what a user looks for, as in kubectl. */
export function withoutManagers(answer: unknown): unknown {
  const { metadata, items } = answer as Managed;
  const { managedFields: _, ...shown } = metadata ?? {};
  return {
    ...(answer as object),
    ...(metadata !== undefined && { metadata: shown }),
    ...(items !== undefined && { items: items.map((item) => withoutManagers(item)) }),
  };
}

interface Named {
  readonly metadata?: { readonly name?: string };
}

async function printObjects(answers: readonly unknown[], output: string, resource: ServedResource): Promise<void> {
  const whole = answers.length === 1 ? answers[0] : { apiVersion: "v1", kind: "List", items: answers };
  if (output === "json") console.log(JSON.stringify(whole, undefined, 4));
  else if (output === "yaml") {
    const { stringify } = await import("../client/yaml.ts");
    console.log(stringify(whole, { indentSeq: false }).trimEnd());
  } else {
    const items = answers.flatMap((answer) => (answer as { items?: Named[] }).items ?? [answer as Named]);
    for (const item of items) console.log(displayName(resource, item.metadata?.name ?? ""));
  }
}
