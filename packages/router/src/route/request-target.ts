export interface RequestTarget {
  /** The authority of an absolute-form target. It overrides the Host header (RFC 9112, 3.2.2). */
  readonly authority: string | undefined;
  readonly target: string;
}

/** Parses the target of a request line. Undefined unless it is in origin form or absolute form with http or https. */
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
