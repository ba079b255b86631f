/** All addresses, also where the kernel has no IPv6: Node finds out when no host is named. */
export function bindTo(host: string): { readonly host?: string } {
  return host === "::" ? {} : { host };
}
