export interface RequestTarget {
  /** The authority of an absolute-form target, which stands above the Host header (RFC 9112, 3.2.2). */
  readonly authority: string | undefined;
  readonly target: string;
}

/** Splits what stands in the request line. Undefined for anything but origin form and absolute form of http. */
export function splitTarget(url: string): RequestTarget | undefined {
  if (url.startsWith("/")) return { authority: undefined, target: url };
  const [, authority, rest = ""] = /^https?:\/\/([^/?#@]+)([/?][^#]*)?$/i.exec(url) ?? [];
  if (authority === undefined) return undefined;
  return { authority, target: rest.startsWith("/") ? rest : `/${rest}` };
}

/** `host:port` of a CONNECT request. */
export function splitAuthority(authority: string): { readonly host: string; readonly port: string } | undefined {
  const [, host, port] = /^([^:@/?#]+):(\d+)$/.exec(authority) ?? [];
  return host === undefined || port === undefined ? undefined : { host, port };
}
