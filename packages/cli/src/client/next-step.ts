/** The fields by which errors of requests differ. Importing their classes would load the client for `--help` too. */
interface RequestError extends Error {
  /** Of a KubeError. */
  readonly code?: unknown;
  /** Of a RefusedError. */
  readonly status?: unknown;
}

/** What the user of refused credentials can do, for the end of an error message. */
export function nextStepAfter(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code, status = code }: RequestError = one;
    if (status === 401) return "the server does not know these credentials: use another kubeconfig, or get a new token";
    if (status === 403 && isPermission(one.message))
      return "ask the operator for a Role with this permission, or use another kubeconfig";
  }
  return undefined;
}

/** Admission refuses objects with the same status. No Role would allow those. */
function isPermission(message: string): boolean {
  return / cannot \w+ resource /.test(message);
}
