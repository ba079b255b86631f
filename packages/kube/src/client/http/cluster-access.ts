/** What one request authenticates with. */
export interface Credential {
  /** The whole value of the `Authorization` header. */
  readonly authorization?: string;
  /** PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

export interface CredentialSource {
  /** Fails with a `KubeError` that says why there is none; nothing has been sent then. */
  get(): Promise<Credential>;
  /** Called when the server refused `refused` with 401: another credential, or the same when there is no other. */
  renew(refused: Credential): Promise<Credential>;
}

/** Everything needed to talk to one API server as one user. */
export interface ClusterAccess {
  /** `https://host:port`, with a path when the API lives below one. */
  readonly server: string;
  /** The namespace of the kubeconfig's context, or the pod's own. Default `default`. */
  readonly namespace: string;
  readonly tls: TlsSettings;
  readonly credentials: CredentialSource;
  /** Sent with every request: impersonation. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Whether to ask for compressed answers. They cost the server more time than a local network takes to carry them. */
  readonly compression?: boolean;
}

export interface TlsSettings {
  /** PEM. The system's authorities when absent. */
  readonly ca?: string;
  /** The name the server's certificate must have, when it is not the host of `server`. */
  readonly serverName?: string;
  /** Accepts any certificate: whoever is in between can read and change everything. */
  readonly insecure?: boolean;
}

export function fixedCredential(credential: Credential): CredentialSource {
  return { get: async () => credential, renew: async () => credential };
}

export function isSameCredential(a: Credential, b: Credential): boolean {
  return a.authorization === b.authorization && a.certificate?.cert === b.certificate?.cert;
}
