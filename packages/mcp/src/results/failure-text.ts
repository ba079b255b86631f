import type { ErrorReason, SandboxError } from "@agent-sandbox/sdk";

/** What a caller can do about a failure. */
const advice: Partial<Record<ErrorReason, string>> = {
  Suspended: "Call resume_sandbox first.",
  Starting: "It may still become ready: call sandbox_status, or try again.",
  Forbidden: "The user of this connection lacks the permission.",
  Unauthenticated: "The token of this connection is not valid any more.",
  Unreachable: "Try again in a moment.",
  OutcomeUnknown: "Check whether it had an effect before you try again.",
};

const longest = 4000;

export function failureText({ reason, message }: SandboxError): string {
  const hint = advice[reason];
  return `${message.slice(0, longest)}${hint === undefined ? "" : `. ${hint}`}`;
}
