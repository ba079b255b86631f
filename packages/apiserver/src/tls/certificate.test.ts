import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { issueCertificate } from "./certificate.ts";

const from = Date.parse("2026-01-01T00:00:00Z");
const year = 365 * 24 * 3600 * 1000;

describe("issueCertificate()", () => {
  const authority = issueCertificate({ commonName: "our-ca", notBeforeMs: from, notAfterMs: from + 30 * year });
  const issuer = new X509Certificate(authority.certificate);
  const names = ["localhost", "127.0.0.1", "::1", "fe80::1:2", "box.example.com"];
  const server = issueCertificate(
    { commonName: "server", organizations: ["org"], names, notBeforeMs: from, notAfterMs: from + year },
    { commonName: "our-ca", key: createPrivateKey(authority.key) },
  );
  const certificate = new X509Certificate(server.certificate);

  test("creates a self-signed certificate authority", () => {
    expect(issuer.ca).toBe(true);
    expect(issuer.verify(issuer.publicKey)).toBe(true);
    expect(issuer.subject).toBe("CN=our-ca");
    expect(issuer.validToDate.toISOString()).toBe("2055-12-25T00:00:00.000Z");
  });

  test("creates a server certificate signed by the authority", () => {
    expect(certificate.ca).toBe(false);
    expect(certificate.verify(issuer.publicKey)).toBe(true);
    expect(certificate.checkIssued(issuer)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(server.key))).toBe(true);
    expect(certificate.validFromDate.getTime()).toBe(from);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  });

  test("creates a client certificate with user and groups that is not valid for servers", () => {
    const organizations = ["a,b", "system:masters", "größe"];
    const client = issueCertificate(
      { commonName: "jane=doe", organizations, notBeforeMs: from, notAfterMs: from + year },
      { commonName: "our-ca", key: createPrivateKey(authority.key) },
    );
    const parsed = new X509Certificate(client.certificate);
    expect(parsed.toLegacyObject().subject).toEqual({ O: organizations, CN: "jane=doe" });
    expect(parsed.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(parsed.subjectAltName).toBeUndefined();
    expect(parsed.checkIssued(issuer)).toBe(true);
  });

  test("is valid only for its names", () => {
    expect(certificate.checkHost("localhost")).toBe("localhost");
    expect(certificate.checkHost("box.example.com")).toBe("box.example.com");
    expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(certificate.checkIP("::1")).toBe("::1");
    expect(certificate.checkIP("fe80::1:2")).toBe("fe80::1:2");
    expect(certificate.checkHost("example.com")).toBeUndefined();
    expect(certificate.checkIP("127.0.0.2")).toBeUndefined();
  });
});
