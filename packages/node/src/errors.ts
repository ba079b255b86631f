/**
 * Why a container does not run: the kubelet's values of `state.waiting.reason`, and `NodeSetup` for problems of the machine.
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

/** The error of this package, except for errors of API requests, which are KubeErrors. */
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
