import { spawn } from "node:child_process";
import { NodeError } from "../errors.ts";
import { runtimeMessage } from "../runtime/runtime-message.ts";
import { cannotRun } from "../system/run-command.ts";

export interface SkopeoOptions {
  /** No file it writes gets longer: a registry that never stops sending must not fill the disk. */
  readonly fileBytes: number;
  /** Where it puts what it needs for a moment. */
  readonly temporary: string;
  /** Mirrors and registries without TLS. */
  readonly registriesFile?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const outputLimit = 8 * 1024 * 1024;
const timeout = "30m";

/** Runs skopeo to its end and gives what it printed; its complaint otherwise. */
export async function skopeo(args: readonly string[], options: SkopeoOptions): Promise<Buffer> {
  const words = [
    `--fsize=${options.fileBytes}`,
    "skopeo",
    "--insecure-policy",
    `--command-timeout=${timeout}`,
    `--tmpdir=${options.temporary}`,
    ...(options.registriesFile === undefined ? [] : [`--registries-conf=${options.registriesFile}`]),
    ...args,
  ];
  const { code, stdout, stderr } = await run("prlimit", words, options.signal);
  if (code === 0) return stdout;
  if (/skopeo.*No such file/.test(stderr)) throw cannotRun("skopeo", Object.assign(new Error(), { code: "ENOENT" }));
  throw new NodeError("ErrImagePull", reasonOf(stderr) || `skopeo ended with ${code}`);
}

interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], signal: AbortSignal | undefined): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  // A home of nobody's: the machine's own logins are not for Pods.
  const env = { ...process.env, HOME: "/nonexistent", XDG_RUNTIME_DIR: "/nonexistent" };
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env, ...(signal && { signal }) });
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
  child.on("error", (error) => reject(signal?.aborted ? error : cannotRun(program, error)));
  child.on("close", (code) =>
    resolve({ code, stdout: Buffer.concat(out), stderr: Buffer.concat(said).toString("utf8") }),
  );
  return promise;
}

/** Its last line says it, after what it was doing at each level. */
function reasonOf(stderr: string): string {
  return runtimeMessage(stderr).slice(-2000);
}
