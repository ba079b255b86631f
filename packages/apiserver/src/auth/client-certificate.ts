import type { PeerCertificate, TLSSocket } from "node:tls";
import { authenticatedGroup, type Identity } from "./identity.ts";

/** The certificate of a client and the result of its verification by TLS. */
export interface ClientCertificate {
  /** Why it is not trusted, if it is not. */
  readonly problem?: string;
  readonly identity: Identity | undefined;
  readonly notAfterMs: number;
}

const parsed = new WeakMap<TLSSocket, ClientCertificate | undefined>();

/** The client certificate of a connection. It is parsed once, because it cannot change. */
export function clientCertificate(socket: TLSSocket): ClientCertificate | undefined {
  if (parsed.has(socket)) return parsed.get(socket);
  const certificate = readCertificate(socket);
  parsed.set(socket, certificate);
  return certificate;
}

function readCertificate(socket: TLSSocket): ClientCertificate | undefined {
  const shown: Partial<PeerCertificate> | null = socket.getPeerCertificate();
  if (shown?.subject === undefined) return undefined;
  const { subject, valid_to: validTo = "", fingerprint256 = "" } = shown;
  const problem = socket.authorized ? {} : { problem: String(socket.authorizationError) };
  const user = [subject.CN].flat().at(-1);
  return {
    ...problem,
    identity: user === undefined || user === "" ? undefined : identityOf(user, [subject.O].flat(), fingerprint256),
    notAfterMs: Date.parse(validTo),
  };
}

/** The common name is the user, the organizations are the groups. */
function identityOf(user: string, organizations: readonly (string | undefined)[], fingerprint: string): Identity {
  const groups = organizations.filter((each) => each !== undefined && each !== "") as string[];
  const credential = `X509SHA256=${fingerprint.replaceAll(":", "").toLowerCase()}`;
  return {
    user,
    groups: [...new Set([...groups, authenticatedGroup])],
    extra: { "authentication.kubernetes.io/credential-id": [credential] },
  };
}
