/** What the runtime inside a sandbox says about itself; anything it does not say counts as nothing. */
export interface RuntimeReport {
  readonly busy?: unknown;
  readonly [field: string]: unknown;
}

/** Whether somebody inside the sandbox is at work. What makes no sense is no work: it must not keep a sandbox awake. */
export function isBusy(report: unknown): boolean {
  if (typeof report !== "object" || report === null) return false;
  return (report as RuntimeReport).busy === true;
}
