import { isName } from "../cluster/names.ts";

/** What the path of an endpoint names: `/sandboxes/<namespace>/<name>/<port>[~<expires>~<signature>]/<rest>`. */
export interface EndpointPath {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly link: { readonly expires: number; readonly signature: string } | undefined;
  /** The path at the sandbox. */
  readonly rest: string;
}

const shape =
  /^\/sandboxes\/([a-z0-9-]{1,63})\/([a-z0-9-]{1,63})\/([1-9]\d{0,4})(?:~([1-9]\d{0,11})~([A-Za-z0-9_-]{1,64}))?(\/.*)?$/;

/** Undefined for every other path. */
export function parseEndpointPath(pathname: string): EndpointPath | undefined {
  const [, namespace = "", name = "", digits = "", expires, signature, rest = "/"] = shape.exec(pathname) ?? [];
  const port = Number(digits);
  if (!isName(namespace) || !isName(name) || port < 1 || port > 65_535) return undefined;
  const link = expires === undefined || signature === undefined ? undefined : { expires: Number(expires), signature };
  return { namespace, name, port, link, rest };
}

/** The path of an endpoint, without a slash at its end. */
export function endpointPath({ namespace, name, port, link }: Omit<EndpointPath, "rest">): string {
  const suffix = link === undefined ? "" : `~${link.expires}~${link.signature}`;
  return `/sandboxes/${namespace}/${name}/${port}${suffix}`;
}
