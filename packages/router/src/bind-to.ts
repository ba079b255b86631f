/** For `::` no host is given to Node, which then listens on all addresses even if the kernel has no IPv6. */
export function bindTo(host: string): { readonly host?: string } {
  return host === "::" ? {} : { host };
}
