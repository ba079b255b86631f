/** Tells the sandbox and the client how often the sandbox continued from saved memory. Only the router may set it. */
export const epochHeader = "x-sandbox-epoch";

/** Name and value; empty for a sandbox without an epoch. */
export function epochHeaders(epoch: number | undefined): readonly string[] {
  return epoch === undefined ? none : [epochHeader, String(epoch)];
}

const none: readonly string[] = [];
