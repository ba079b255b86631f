/** Kubernetes keeps times to the second. */
export function kubeTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}
