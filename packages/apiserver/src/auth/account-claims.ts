import { isJsonObject, type JsonObject, stringAt, valueAt } from "../api-object.ts";
import { accountUser } from "./identity.ts";

export interface ObjectName {
  readonly name: string;
  readonly uid: string;
}

/** The object that a service account's token is bound to. The token is valid while the object exists. */
export type Binding =
  | { readonly kind: "pod"; readonly pod: ObjectName; readonly node?: { name: string; uid?: string } | undefined }
  | { readonly kind: "secret"; readonly secret: ObjectName }
  | { readonly kind: "node"; readonly node: ObjectName };

/** The claims in the token of a service account. */
export interface AccountClaims {
  readonly issuer: string;
  readonly id: string;
  readonly audiences: readonly string[];
  readonly namespace: string;
  readonly account: ObjectName;
  readonly binding: Binding | undefined;
  /** Seconds since 1970, like all times in a token. */
  readonly issuedAt: number;
  readonly notBefore: number;
  readonly expiresAt: number;
}

const accountKey = "kubernetes.io";

/** The claims in the JSON form that Kubernetes uses. */
export function writeClaims(claims: AccountClaims): JsonObject {
  const { namespace, account } = claims;
  return {
    aud: claims.audiences,
    exp: claims.expiresAt,
    iat: claims.issuedAt,
    iss: claims.issuer,
    jti: claims.id,
    [accountKey]: { namespace, ...bound(claims.binding), serviceaccount: account },
    nbf: claims.notBefore,
    sub: accountUser({ namespace, name: account.name }),
  };
}

function bound(binding: Binding | undefined): object {
  switch (binding?.kind) {
    case undefined:
      return {};
    case "pod":
      return { ...(binding.node === undefined ? {} : { node: binding.node }), pod: binding.pod };
    case "secret":
      return { secret: binding.secret };
    case "node":
      return { node: binding.node };
    default:
      return binding satisfies never;
  }
}

/** Reads claims whose signature was verified. Returns `undefined` for claims that `writeClaims` does not produce. */
export function readClaims(claims: JsonObject): AccountClaims | undefined {
  const own = claims[accountKey];
  const account = objectName(own, "serviceaccount");
  const namespace = stringAt(own, "namespace");
  const { iss: issuer, jti: id, aud, exp, iat, nbf, sub } = claims;
  const audiences = Array.isArray(aud) ? aud.filter((each) => typeof each === "string") : [];
  const known = typeof issuer === "string" && typeof id === "string";
  const timed = typeof exp === "number" && typeof iat === "number" && typeof nbf === "number";
  if (!known || !timed || account === undefined || namespace === undefined) return undefined;
  if (sub !== accountUser({ namespace, name: account.name })) return undefined;
  const binding = readBinding(own);
  return { issuer, id, audiences, namespace, account, binding, issuedAt: iat, notBefore: nbf, expiresAt: exp };
}

function readBinding(own: unknown): Binding | undefined {
  const pod = objectName(own, "pod");
  const secret = objectName(own, "secret");
  const node = objectName(own, "node");
  if (pod !== undefined) {
    const nodeName = stringAt(own, "node", "name");
    const nodeUid = stringAt(own, "node", "uid");
    const where =
      nodeName === undefined ? undefined : { name: nodeName, ...(nodeUid === undefined ? {} : { uid: nodeUid }) };
    return { kind: "pod", pod, node: where };
  }
  if (secret !== undefined) return { kind: "secret", secret };
  return node === undefined ? undefined : { kind: "node", node };
}

function objectName(own: unknown, key: string): ObjectName | undefined {
  const found = valueAt(own, key);
  if (!isJsonObject(found)) return undefined;
  const { name, uid } = found;
  return typeof name === "string" && typeof uid === "string" ? { name, uid } : undefined;
}
