/** Formats a time as Kubernetes' MicroTime. */
export function microTime(dateMs: number): string {
  return new Date(dateMs).toISOString().replace("Z", "000Z");
}
