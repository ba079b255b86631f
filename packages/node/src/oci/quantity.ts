import { parseQuantity } from "@agent-sandbox/api";

/** A Kubernetes quantity (`500m`, `1.5Gi`, `2e3`) as a number, or undefined if it is invalid. */
export function amountOf(quantity: string | number): number | undefined {
  const parsed = parseQuantity(String(quantity));
  return "error" in parsed ? undefined : Number(parsed.nanos) / 1e9;
}
