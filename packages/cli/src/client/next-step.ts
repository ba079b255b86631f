/** What the user of refused credentials can do, for the end of an error message. */
export function nextStepAfter(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    // The text tells permissions from admission, which refuses objects with the same status: no Role would allow those.
    if (/ is forbidden: User ".*" cannot \w+ resource /.test(one.message))
      return "ask the operator for a Role with this permission, or use another kubeconfig";
    if (/(?:^|: )Unauthorized$/.test(one.message))
      return "the server does not know these credentials: use another kubeconfig, or get a new token";
  }
  return undefined;
}
