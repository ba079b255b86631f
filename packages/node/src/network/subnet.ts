/** An IPv4 network: its first address as a number, and the length of its prefix. */
export interface Subnet {
  readonly base: number;
  readonly prefix: number;
}

export function parseSubnet(text: string): Subnet | undefined {
  const [address = "", length = "32"] = text.split("/");
  const value = parseAddress(address);
  const prefix = Number(length);
  if (value === undefined || !/^\d{1,2}$/.test(length) || prefix > 32) return undefined;
  return { base: value - (value % sizeOf(prefix)), prefix };
}

export function formatSubnet(subnet: Subnet): string {
  return `${formatAddress(subnet.base)}/${subnet.prefix}`;
}

export function parseAddress(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

export function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

export function overlap(a: Subnet, b: Subnet): boolean {
  return a.base < b.base + sizeOf(b.prefix) && b.base < a.base + sizeOf(a.prefix);
}

export function sizeOf(prefix: number): number {
  return 2 ** (32 - prefix);
}
