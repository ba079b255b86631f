/** The credential of a request. */
export interface Credential {
  /** The whole value of the `Authorization` header. */
  readonly authorization?: string;
  /** PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

export interface CredentialSource {
  /** Rejects with a `KubeError` if there is no credential; nothing has been sent then. */
  get(): Promise<Credential>;
  /** Called when the server rejected `refused` with 401. Returns another credential, or the same if there is no other. */
  renew(refused: Credential): Promise<Credential>;
}

/** Everything needed to talk to one API server as one user. */
export interface ClusterAccess {
  /** `https://host:port`, optionally with a path. */
  readonly server: string;
  /** The namespace of the kubeconfig's context, or of the Pod. Default `default`. */
  readonly namespace: string;
  readonly tls: TlsSettings;
  readonly credentials: CredentialSource;
  /** Additional headers, used for impersonation. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Whether to request compressed responses. On a local network compression takes longer than it saves. */
  readonly compression?: boolean;
}

export interface TlsSettings {
  /** PEM. The system's authorities when absent. */
  readonly ca?: string;
  /** The name the server's certificate must have, when it is not the host of `server`. */
  readonly serverName?: string;
  /** Accepts any certificate, which allows man-in-the-middle attacks. */
  readonly insecure?: boolean;
}

export function fixedCredential(credential: Credential): CredentialSource {
  return { get: async () => credential, renew: async () => credential };
}

export function isSameCredential(a: Credential, b: Credential): boolean {
  return a.authorization === b.authorization && a.certificate?.cert === b.certificate?.cert;
}
