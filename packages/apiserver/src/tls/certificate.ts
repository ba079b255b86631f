import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import * as der from "./der.ts";

export interface KeyAndCertificate {
  /** PEM. */
  readonly key: string;
  readonly certificate: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** DNS names and IP addresses of a server. Without any, the certificate is for a client. */
  readonly names?: readonly string[];
}

export interface Issuer {
  readonly commonName: string;
  readonly key: KeyObject;
}

const oid = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

/** Creates a P-256 key and a certificate for it, signed by the issuer, or a self-signed authority without an issuer. */
export function issueCertificate(request: CertificateRequest, issuer?: Issuer): KeyAndCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signer = issuer ?? { commonName: request.commonName, key: privateKey };
  const extensions = issuer === undefined ? authorityExtensions() : ownerExtensions(request.names ?? []);
  const algorithm = der.sequence(der.objectIdentifier(oid.ecdsaWithSha256));
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(randomBytes(16)),
    algorithm,
    distinguishedName(signer.commonName),
    der.sequence(der.time(request.notBeforeMs), der.time(request.notAfterMs)),
    distinguishedName(request.commonName, request.organizations),
    publicKey.export({ type: "spki", format: "der" }),
    der.explicit(3, der.sequence(...extensions, ...keyIdentifiers(publicKey, signer.key))),
  );
  const certificate = der.sequence(body, algorithm, der.bitString(sign("sha256", body, signer.key)));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
    certificate: pem(certificate),
  };
}

function namePart(id: string, value: string): Buffer {
  return der.set(der.sequence(der.objectIdentifier(id), der.utf8String(value)));
}

function distinguishedName(commonName: string, organizations: readonly string[] = []): Buffer {
  const parts = organizations.map((each) => namePart(oid.organization, each));
  return der.sequence(...parts, namePart(oid.commonName, commonName));
}

function extension(id: string, critical: boolean, value: Uint8Array): Buffer {
  return der.sequence(der.objectIdentifier(id), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
}

function authorityExtensions(): Buffer[] {
  return [
    extension(oid.basicConstraints, true, der.sequence(der.boolean(true))),
    // digitalSignature, keyCertSign, cRLSign
    extension(oid.keyUsage, true, der.bitString(Buffer.from([0b1000_0110]), 1)),
  ];
}

/** Server certificates are not valid for clients, and client certificates not for servers. */
function ownerExtensions(names: readonly string[]): Buffer[] {
  const isServer = names.length > 0;
  const usage = isServer ? oid.serverAuth : oid.clientAuth;
  return [
    extension(oid.basicConstraints, true, der.sequence()),
    // digitalSignature
    extension(oid.keyUsage, true, der.bitString(Buffer.from([0b1000_0000]), 7)),
    extension(oid.extendedKeyUsage, false, der.sequence(der.objectIdentifier(usage))),
    ...(isServer ? [extension(oid.subjectAltName, false, der.sequence(...names.map(alternativeName)))] : []),
  ];
}

function alternativeName(name: string): Buffer {
  return isAddress(name) ? der.implicit(7, addressBytes(name)) : der.implicit(2, Buffer.from(name));
}

/** A DNS name contains no colon. `isIP` is avoided, because compiling its expression takes longer than issuing a certificate. */
const isAddress = (name: string): boolean => name.includes(":") || isIPv4(name);

const groups = (text: string): number[] =>
  text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::") as [string?, string?];
  const before = groups(head);
  const after = groups(tail ?? "");
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - before.length - after.length }, () => 0);
  return Buffer.from([...before, ...zeros, ...after].flatMap((group) => [group >>> 8, group & 0xff]));
}

function keyIdentifiers(subject: KeyObject, signer: KeyObject): Buffer[] {
  const own = keyId(subject);
  const authority = keyId(createPublicKey(signer));
  return [
    extension(oid.subjectKeyId, false, der.octetString(own)),
    extension(oid.authorityKeyId, false, der.sequence(der.implicit(0, authority))),
  ];
}

/** RFC 7093: the leftmost 160 bits of the SHA-256 of the key. */
function keyId(key: KeyObject): Buffer {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
