/** Far more than one machine runs. A larger number is probably a typing error. */
export const mostMembers = 10_000;

/** The number of members that somebody typed. Undefined: it is not a whole number from 0 to `mostMembers`. */
export function parseMembers(text: string): number | undefined {
  const digits = text.trim();
  if (!/^\d{1,6}$/.test(digits)) return undefined;
  const count = Number(digits);
  return count <= mostMembers ? count : undefined;
}
