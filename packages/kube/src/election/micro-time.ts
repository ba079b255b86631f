/** A moment in Kubernetes' MicroTime notation. */
export function microTime(dateMs: number): string {
  return new Date(dateMs).toISOString().replace("Z", "000Z");
}
