/**
 * Whether the runtime reports that it is busy: commands run, streams are open or a lease is held. An invalid report counts
 * as not busy, so that it cannot keep a sandbox awake.
 */
export function isBusy(report: unknown): boolean {
  return typeof report === "object" && report !== null && "busy" in report && report.busy === true;
}
