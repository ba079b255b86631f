import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Paths of PEM files. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority for tests. Its keys are in the temporary folder. */
export class Authority {
  readonly certificate: string;
  readonly #folder: string;
  readonly #days: number;

  /** Its certificates are valid for a number of days. Default: 2. */
  constructor(folder: string, days = 2) {
    this.#folder = folder;
    this.#days = days;
    const extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=keyCertSign", "subjectKeyIdentifier=hash"];
    const additions = extensions.flatMap((line) => ["-addext", line]);
    this.certificate = this.#request("ca", ["-subj", "/CN=test-authority", ...additions]).certificate;
  }

  /** Issues a client certificate: the common name is the user, the organizations are the groups. */
  issueClient(name: string, groups: readonly string[]): KeyPair {
    const organizations = groups.map((group) => `/O=${escaped(group)}`).join("");
    return this.#issue(name, `${organizations}/CN=${escaped(name)}`, ["extendedKeyUsage=clientAuth"]);
  }

  /** Issues a certificate for a server on loopback with the given DNS names and additional addresses. */
  issueServer(name: string, dnsNames: readonly string[] = [], addresses: readonly string[] = []): KeyPair {
    const ips = ["127.0.0.1", ...addresses].map((address) => `IP:${address}`);
    const names = [...ips, ...["localhost", ...dnsNames].map((dns) => `DNS:${dns}`)].join(",");
    return this.#issue(name, `/CN=${escaped(name)}`, ["extendedKeyUsage=serverAuth", `subjectAltName=${names}`]);
  }

  #issue(name: string, subject: string, extensions: readonly string[]): KeyPair {
    const additions = ["basicConstraints=CA:FALSE", ...extensions].flatMap((line) => ["-addext", line]);
    const signer = ["-CA", this.certificate, "-CAkey", join(this.#folder, "ca.key")];
    return this.#request(fileName(name), ["-subj", subject, ...signer, ...additions]);
  }

  #request(file: string, words: readonly string[]): KeyPair {
    const pair = { certificate: join(this.#folder, `${file}.crt`), key: join(this.#folder, `${file}.key`) };
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const files = ["-keyout", pair.key, "-out", pair.certificate, "-days", String(this.#days)];
    // The machine's openssl.cnf could add extensions.
    const env = { ...process.env, OPENSSL_CONF: "/dev/null" };
    execFileSync("openssl", ["req", "-x509", "-utf8", ...curve, ...files, ...words], { stdio: "pipe", env });
    return pair;
  }
}

/** Paths of the private and public key for tokens of service accounts. */
export interface ServiceAccountKeys {
  readonly privateKey: string;
  readonly publicKey: string;
}

export function makeServiceAccountKeys(folder: string): ServiceAccountKeys {
  const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const privateKey = join(folder, "service-account.key");
  const publicKey = join(folder, "service-account.pub");
  writeFileSync(privateKey, pair.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  writeFileSync(publicKey, pair.publicKey.export({ type: "spki", format: "pem" }));
  return { privateKey, publicKey };
}

function escaped(value: string): string {
  return value.replace(/[\\/+=]/g, "\\$&");
}

/** Replaces characters of user names, such as "system:serviceaccount:a:b", that are unsafe in file names. */
function fileName(name: string): string {
  return name.replace(/[^a-zA-Z0-9.-]/g, "_");
}
