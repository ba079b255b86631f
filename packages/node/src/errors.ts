/**
 * Why a container does not run, in the words the kubelet uses for `state.waiting.reason`, and `NodeSetup` for what is
 * wrong with the machine itself.
 */
export type NodeReason =
  | "CreateContainerConfigError"
  | "CreateContainerError"
  | "ErrImageNeverPull"
  | "ErrImagePull"
  | "InvalidImageName"
  | "FailedMount"
  | "RunContainerError"
  | "SandboxError"
  | "NodeSetup";

/** The error of this package below the Kubernetes API. `reason` is for code, `message` for people. */
export class NodeError extends Error {
  override readonly name = "NodeError";
  readonly reason: NodeReason;

  constructor(reason: NodeReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
