/** How to find the names of objects. `types` are separated by commas. */
export const listStep = (types: string, namespace = "default"): string =>
  `list them with: agent-sandbox get ${types}${namespace === "default" ? "" : ` -n ${namespace}`}`;

/** What the user can do about an error of the server, for the end of an error message. */
export function nextStepAfter(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    // The text tells permissions from admission, which refuses objects with the same status: no Role would allow those.
    if (/ is forbidden: User ".*" cannot \w+ resource /.test(one.message))
      return "ask the operator for a Role with this permission, or use another kubeconfig";
    if (/(?:^|: )Unauthorized$/.test(one.message))
      return "the server does not know these credentials: use another kubeconfig, or get a new token";
    if (/ in body should match '.*numkMGTPE/.test(one.message)) return "write a quantity, such as 500m or 512Mi";
    if (/(?:^|: )Cannot read archive "[^"]*": (?!.*(?:no such file|no space|permission denied))/i.test(one.message))
      return 'an archive of an image is what "docker save IMAGE" writes';
    if (one.message.startsWith("Cannot find a kubeconfig")) return "name one with --kubeconfig or KUBECONFIG";
    const [, missing] = /(?:^|: )([a-z]+)(?:\.[a-z0-9.-]+)? "[^"]*" not found$/.exec(one.message) ?? [];
    if (missing !== undefined) return listStep(missing);
    if (/(?:^|: )container \S+ is not valid for pod \S+$/.test(one.message))
      return "agent-sandbox describe SANDBOX shows its containers";
  }
  return undefined;
}
