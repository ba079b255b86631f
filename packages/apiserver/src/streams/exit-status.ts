import type { Status } from "@agent-sandbox/api";

/** The status of a command whose exit code is unknown. */
export function lostStatus(message: string): Status {
  return { metadata: {}, status: "Failure", message, reason: "InternalError" };
}

/** The status of an ended command for the error channel. kubectl reads the exit code from its cause. */
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
