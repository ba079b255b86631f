import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A CA and its certificates in a directory like a mounted Secret, behind a symbolic link that is replaced. */
export class Certificates implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "data-plane-tls-"));

  constructor() {
    this.#openssl("req", "-x509", ...newKey("ca"), "-subj", "/CN=ca", "-days", "2", "-out", "ca.crt");
    for (const name of ["first", "second"]) {
      this.issue(name, `/CN=${name}`, "DNS:localhost");
      mkdirSync(this.path(name));
      renameSync(this.path(`${name}.crt`), this.path(`${name}/tls.crt`));
      renameSync(this.path(`${name}.key`), this.path(`${name}/tls.key`));
    }
    symlinkSync("first", this.path("data"));
    for (const file of ["tls.crt", "tls.key"]) symlinkSync(`data/${file}`, this.path(file));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): Buffer {
    return readFileSync(this.path(name));
  }

  get server(): { certFile: string; keyFile: string } {
    return { certFile: this.path("tls.crt"), keyFile: this.path("tls.key") };
  }

  /** Replaces the link, as the kubelet does for a new version of a Secret. */
  swap(): void {
    symlinkSync("second", this.path("data.new"));
    renameSync(this.path("data.new"), this.path("data"));
  }

  issue(name: string, subject: string, altNames: string): void {
    this.#openssl("req", ...newKey(name), "-subj", subject, "-out", `${name}.csr`);
    writeFileSync(this.path(`${name}.ext`), `subjectAltName=${altNames}\n`);
    const authority = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
    this.#openssl("x509", "-req", "-in", `${name}.csr`, ...authority, "-extfile", `${name}.ext`, "-out", `${name}.crt`);
  }

  #openssl(...words: string[]): void {
    execFileSync("openssl", words, { cwd: this.folder, stdio: "pipe" });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function newKey(name: string): string[] {
  return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", `${name}.key`];
}
