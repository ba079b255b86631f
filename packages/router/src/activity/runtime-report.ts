/**
 * Whether the runtime inside a sandbox says that it is at work: commands run, streams are open or a lease is held. What
 * makes no sense is no work: it must not keep a sandbox awake.
 */
export function isBusy(report: unknown): boolean {
  return typeof report === "object" && report !== null && "busy" in report && report.busy === true;
}
