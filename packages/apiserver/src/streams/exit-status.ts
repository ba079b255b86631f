import type { Status } from "@agent-sandbox/api";

/** A command whose end nobody saw. */
export function lostStatus(message: string): Status {
  return { metadata: {}, status: "Failure", message, reason: "InternalError" };
}

/** How a command ended, as the error channel says it. kubectl takes the exit code from the cause. */
export function exitStatus({ code, signal }: { readonly code: number; readonly signal?: string }): Status {
  if (code === 0 && signal === undefined) return successStatus();
  const how = signal === undefined ? `Exit status ${code}` : `Ended by signal ${signal}`;
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: ${how}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(code) }] },
  };
}

export const successStatus = (): Status => ({ metadata: {}, status: "Success" });
