/** Formats a time as `metav1.Time`, which has no fractions of seconds. */
export function kubeTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}
