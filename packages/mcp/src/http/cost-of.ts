/** About how much memory a message may need until its answer is sent, several times the longest answer. */
export function costOf(message: unknown): number {
  if (!isRecord(message) || !isRecord(message["params"])) return least;
  const { method, params } = message;
  if (method === "resources/read") return 24 * mebibyte;
  if (method === "resources/list") return 8 * mebibyte;
  if (method !== "tools/call") return least;
  const { name, arguments: given } = params;
  const cost = typeof name === "string" && Object.hasOwn(costs, name) ? costs[name] : undefined;
  return Math.max(least, cost?.(isRecord(given) ? given : {}) ?? 0);
}

const mebibyte = 1_048_576;
const least = mebibyte;

/** Of tools whose answers can be long. An argument that is not valid is refused later and costs nothing. */
const costs: Readonly<Record<string, (given: Readonly<Record<string, unknown>>) => number>> = {
  edit_file: () => 24 * mebibyte,
  list_files: () => 8 * mebibyte,
  list_sandboxes: () => 8 * mebibyte,
  list_templates: () => 8 * mebibyte,
  read_file: ({ limit }) => 8 * numberOf(limit),
  read_process: ({ max_output_bytes: most }) => 8 * numberOf(most),
  run_code: () => 8 * mebibyte,
  run_command: ({ max_output_bytes: most }) => 8 * numberOf(most),
  search_files: () => 8 * mebibyte,
};

/** The largest that the tools accept. */
const largest = mebibyte;

function numberOf(value: unknown): number {
  return typeof value === "number" && value > 0 ? Math.min(value, largest) : 0;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
