/** Like `Promise.all`, but waits for all promises before it throws, so that a retry does not overlap with them. */
export async function settleAll(parts: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(parts);
  await Promise.all(parts);
}
