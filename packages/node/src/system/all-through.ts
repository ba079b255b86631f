/** When one fails the others still have to end: a second try beside them would meet them half-way. */
export async function allThrough(parts: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(parts);
  await Promise.all(parts);
}
