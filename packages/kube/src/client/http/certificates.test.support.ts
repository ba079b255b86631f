import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority for tests, created with the `openssl` command. */
export class Authority implements Disposable {
  readonly cert: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "authority-"));

  constructor() {
    this.#openssl(
      "req",
      "-x509",
      ...this.#newKey("ca"),
      "-subj",
      `/CN=test-ca ${basename(this.#folder)}`,
      "-days",
      "2",
      "-out",
      "ca.crt",
    );
    this.cert = this.#read("ca.crt");
  }

  /** Uses `openssl ca`, the only command in all releases that can create certificates with past dates. */
  issue(name: string, { altNames = "", expired = false }: { altNames?: string; expired?: boolean } = {}): Pair {
    this.#openssl("req", ...this.#newKey(name), "-subj", `/CN=${name}`, "-out", `${name}.csr`);
    const lines = [
      "[ca]",
      "default_ca=d",
      "[d]",
      `new_certs_dir=${this.#folder}`,
      `database=${join(this.#folder, "index.txt")}`,
      "default_md=sha256",
      "rand_serial=yes",
      "policy=p",
      "unique_subject=no",
      "[p]",
      "commonName=supplied",
      "[x]",
      "basicConstraints=CA:FALSE",
      ...(altNames === "" ? [] : [`subjectAltName=${altNames}`]),
    ];
    writeFileSync(join(this.#folder, "ca.cnf"), `${lines.join("\n")}\n`);
    writeFileSync(join(this.#folder, "index.txt"), "");
    const dates = expired ? ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"] : ["-days", "1"];
    const signing = [
      "ca",
      "-batch",
      "-notext",
      "-config",
      "ca.cnf",
      "-extensions",
      "x",
      "-cert",
      "ca.crt",
      "-keyfile",
      "ca.key",
    ];
    this.#openssl(...signing, ...dates, "-in", `${name}.csr`, "-out", `${name}.crt`);
    return { cert: this.#read(`${name}.crt`), key: this.#read(`${name}.key`) };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #newKey(name: string): string[] {
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", `${name}.key`];
  }

  #openssl(...args: string[]): void {
    execFileSync("openssl", args, { cwd: this.#folder, stdio: "pipe" });
  }

  #read(name: string): string {
    return readFileSync(join(this.#folder, name), "utf8");
  }
}
