import { type Pod, parseQuantity, podNameAnnotation, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { fetchJson, RefusedError } from "../client/discovery.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { readPods } from "../client/pod-runtimes.ts";
import { formatTable } from "../client/table.ts";
import { CommandError } from "../command-error.ts";

export interface TopOptions extends GlobalOptions {
  readonly allNamespaces?: boolean;
  readonly sortBy?: string;
}

const orders = ["name", "cpu", "memory"] as const;
type Order = (typeof orders)[number];

/** The measured use of a Pod, as in `metrics.k8s.io`. */
export interface PodMetrics {
  readonly metadata: { readonly namespace?: string; readonly name?: string };
  readonly containers: readonly { readonly usage: { readonly cpu?: string; readonly memory?: string } }[];
}

/** Prints the processor time and memory that running sandboxes use, and their limits. */
export async function top(names: readonly string[], options: TopOptions): Promise<void> {
  const order = orderOf(options.sortBy);
  const { allNamespaces = false } = options;
  if (allNamespaces && names.length > 0) throw new CommandError("name sandboxes, or use --all-namespaces, not both");
  await using connection = await connect(options);
  const namespace = allNamespaces ? undefined : connection.namespace;
  const [chosen, metrics, pods = []] = await Promise.all([
    choose(connection, names, namespace),
    readMetrics(connection, namespace),
    readPods(connection.transport, namespace),
  ]);
  const rows = usageOf(chosen, metrics, pods).toSorted(comparing(order));
  if (rows.length === 0) console.error(nothingMeasured(chosen, pods));
  else console.log(usageTable(rows, allNamespaces));
}

function orderOf(text: string | undefined): Order {
  const found = orders.find((one) => one === (text ?? "name"));
  if (found === undefined) throw new CommandError(`Cannot sort by "${text}": write ${orders.join(", ")}`);
  return found;
}

async function choose(
  connection: Connection,
  names: readonly string[],
  namespace: string | undefined,
): Promise<readonly Sandbox[]> {
  if (names.length > 0) return Promise.all(names.map((name) => findSandbox(connection, name)));
  return (await connection.client.list(sandboxes, namespace === undefined ? {} : { namespace })).items;
}

async function readMetrics({ transport }: Connection, namespace: string | undefined): Promise<readonly PodMetrics[]> {
  const scope = namespace === undefined ? "" : `namespaces/${encodeURIComponent(namespace)}/`;
  try {
    const list = await fetchJson(transport, `/apis/metrics.k8s.io/v1beta1/${scope}pods`);
    return (list as { readonly items?: readonly PodMetrics[] }).items ?? [];
  } catch (error) {
    if (!(error instanceof RefusedError) || (error.status !== 404 && error.status !== 503)) throw error;
    throw new CommandError("this server measures no Pods: install metrics-server in the cluster", { cause: error });
  }
}

export interface Usage {
  readonly namespace: string;
  readonly name: string;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  /** Undefined: no limit. */
  readonly cpuLimitMillis: number | undefined;
  readonly memoryLimitBytes: number | undefined;
}

/** A Pod that has just started is not measured yet. */
export function nothingMeasured(chosen: readonly Sandbox[], pods: readonly Pod[]): string {
  const running = new Set(
    pods.filter(({ status }) => status?.phase === "Running").map(({ metadata }) => keyOf(metadata)),
  );
  return chosen.some((sandbox) => running.has(podKeyOf(sandbox)))
    ? "The running sandboxes are not measured yet: try again in a few seconds"
    : "No running sandboxes found";
}

const keyOf = ({ namespace, name }: { readonly namespace?: string; readonly name?: string } = {}): string =>
  `${namespace}/${name}`;

function podKeyOf({ metadata: { namespace = "", name = "", annotations } }: Sandbox): string {
  return keyOf({ namespace, name: annotations?.[podNameAnnotation] || name });
}

/** The use of each Sandbox whose Pod is measured. */
export function usageOf(chosen: readonly Sandbox[], metrics: readonly PodMetrics[], pods: readonly Pod[]): Usage[] {
  const measured = new Map(metrics.map((one) => [keyOf(one.metadata), one]));
  const podByName = new Map(pods.map((pod) => [keyOf(pod.metadata), pod]));
  return chosen.flatMap((sandbox) => {
    const { namespace = "", name = "" } = sandbox.metadata;
    const pod = podKeyOf(sandbox);
    const found = measured.get(pod);
    if (found === undefined) return [];
    const containers = podByName.get(pod)?.spec?.containers ?? [];
    const limitOf = (resource: "cpu" | "memory"): number | undefined =>
      sumOfLimits(containers.map(({ resources }) => resources?.limits?.[resource]));
    const used = (resource: "cpu" | "memory"): number =>
      found.containers.reduce((sum, { usage }) => sum + amountOf(usage[resource] ?? "0"), 0);
    return [
      {
        namespace,
        name,
        cpuMillis: Math.ceil(used("cpu") * 1000),
        memoryBytes: used("memory"),
        cpuLimitMillis: scaled(limitOf("cpu"), 1000),
        memoryLimitBytes: limitOf("memory"),
      },
    ];
  });
}

const scaled = (amount: number | undefined, factor: number): number | undefined =>
  amount === undefined ? undefined : Math.round(amount * factor);

/** A Pod is limited if each of its containers is. */
function sumOfLimits(limits: readonly (string | number | undefined)[]): number | undefined {
  const known = limits.filter((limit) => limit !== undefined);
  if (known.length === 0 || known.length < limits.length) return undefined;
  return known.reduce<number>((sum, limit) => sum + amountOf(String(limit)), 0);
}

function amountOf(text: string): number {
  const quantity = parseQuantity(text);
  return "error" in quantity ? 0 : Number(quantity.nanos) / 1e9;
}

function comparing(order: Order): (a: Usage, b: Usage) => number {
  const byName = (a: Usage, b: Usage): number => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name);
  if (order === "cpu") return (a, b) => b.cpuMillis - a.cpuMillis || byName(a, b);
  return order === "memory" ? (a, b) => b.memoryBytes - a.memoryBytes || byName(a, b) : byName;
}

const columns = ["Name", "CPU(cores)", "CPU limit", "Memory(bytes)", "Memory limit"];

/** In the units of `kubectl top`. */
export function usageTable(rows: readonly Usage[], namespaces: boolean): string {
  const cores = (millis: number | undefined): string | undefined => (millis === undefined ? undefined : `${millis}m`);
  const mebibytes = (bytes: number | undefined): string | undefined =>
    bytes === undefined ? undefined : `${Math.ceil(bytes / 2 ** 20)}Mi`;
  return formatTable(
    {
      columnDefinitions: columns.map((name) => ({ name })),
      rows: rows.map(({ namespace, name, cpuMillis, cpuLimitMillis, memoryBytes, memoryLimitBytes }) => ({
        cells: [name, cores(cpuMillis), cores(cpuLimitMillis), mebibytes(memoryBytes), mebibytes(memoryLimitBytes)],
        object: { metadata: { namespace } },
      })),
    },
    { namespaces },
  );
}
