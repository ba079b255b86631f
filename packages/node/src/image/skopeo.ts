import { spawn } from "node:child_process";
import { NodeError } from "../errors.ts";
import { sandboxOomScore } from "../oci/oom-score.ts";
import { runtimeMessage } from "../runtime/runtime-message.ts";
import { cannotRun } from "../system/run-command.ts";

/** How to confine a program that runs on behalf of a tenant. */
export interface Confinement {
  /** Command prefix that enters a network namespace. */
  readonly enter?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Paths of the control groups that it runs in. */
  readonly cgroups?: readonly string[] | undefined;
}

export interface SkopeoOptions {
  /** The largest file it may write, so that a registry that never stops sending cannot fill the disk. */
  readonly fileBytes: number;
  /** Folder for temporary files. */
  readonly temporary: string;
  /** registries.conf with mirrors and registries without TLS. */
  readonly registriesFile?: string | undefined;
  readonly confinement?: Confinement | undefined;
  readonly signal?: AbortSignal | undefined;
}

const outputLimit = 8 * 1024 * 1024;
const timeout = "30m";

/** Runs skopeo and returns its output. Throws with its error message if it fails. */
export async function skopeo(args: readonly string[], options: SkopeoOptions): Promise<Buffer> {
  const words = [
    "prlimit",
    `--fsize=${options.fileBytes}`,
    "skopeo",
    "--insecure-policy",
    `--command-timeout=${timeout}`,
    `--tmpdir=${options.temporary}`,
    ...(options.registriesFile === undefined ? [] : [`--registries-conf=${options.registriesFile}`]),
    ...args,
  ];
  const { code, stdout, stderr } = await run(words, options.confinement ?? {}, options.signal);
  if (code === 0) return stdout;
  const missing = /(skopeo|prlimit|nsenter).*(?:No such file|not found)/.exec(stderr)?.[1];
  if (missing !== undefined) throw cannotRun(missing, Object.assign(new Error(), { code: "ENOENT" }));
  throw new NodeError("ErrImagePull", reasonOf(stderr) || `skopeo exited with status ${code}`);
}

interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** The arguments are the control groups, an empty argument and the command. */
const confine = `
while [ -n "$1" ]; do echo $$ >"$1/cgroup.procs"; shift; done
shift
echo ${sandboxOomScore} >/proc/self/oom_score_adj
exec "$@"
`;

/** Environment variables that skopeo inherits: PATH, certificates and, unless it uses our proxy, the machine's proxy settings. */
const passedOn = ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"];
const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];

function run(words: readonly string[], confinement: Confinement, signal: AbortSignal | undefined): Promise<Ended> {
  const { enter = [], env: own, cgroups = [] } = confinement;
  const names = own === undefined ? [...passedOn, ...proxies] : passedOn;
  const env = {
    ...Object.fromEntries(names.map((name) => [name, process.env[name]])),
    ...own,
    // Pods must not use the machine's own registry logins.
    HOME: "/nonexistent",
    XDG_RUNTIME_DIR: "/nonexistent",
  };
  const args = ["-c", confine, "sh", ...cgroups, "", ...enter, ...words];
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const child = spawn("/bin/sh", args, {
    stdio: ["ignore", "pipe", "pipe"],
    env,
    killSignal: "SIGKILL",
    ...(signal && { signal }),
  });
  const [out, said]: [Buffer[], Buffer[]] = [[], []];
  for (const [stream, into] of [
    [child.stdout, out],
    [child.stderr, said],
  ] as const) {
    let length = 0;
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= outputLimit) into.push(chunk);
    });
  }
  child.on("error", (error) => reject(signal?.aborted ? error : cannotRun("sh", error)));
  child.on("close", (code) =>
    resolve({ code, stdout: Buffer.concat(out), stderr: Buffer.concat(said).toString("utf8") }),
  );
  return promise;
}

/** The last line of the output contains the error, after the context of each level, so keep the end. */
function reasonOf(stderr: string): string {
  return runtimeMessage(stderr).slice(-2000);
}
