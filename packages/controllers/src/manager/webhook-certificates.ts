import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, type Logger, type Scheduler, systemScheduler } from "@agent-sandbox/kube";
import type { ManagerFlags } from "./flag-table.ts";
import { MemoryPair } from "./memory-pair.ts";
import { type IssueOptions, sharedPair } from "./webhook-pair.ts";
import type { CertificateFiles } from "./webhook-server.ts";
import { trustWebhook } from "./webhook-trust.ts";

type WebhookFlags = Pick<
  ManagerFlags,
  | "cluster-domain"
  | "webhook-cert-dir"
  | "webhook-cert-name"
  | "webhook-key-name"
  | "webhook-service-name"
  | "webhook-namespace"
>;

/**
 * Writes the shared certificate's authority to the CRDs, then the certificate to files. Writes only what has changed. Where files cannot be
 * written, the certificate is kept in `memory`. Pass the same one each time.
 */
export async function manageCertificates(
  client: Client,
  flags: WebhookFlags,
  { memory = new MemoryPair(), ...options }: IssueOptions & { readonly memory?: MemoryPair },
): Promise<CertificateFiles> {
  const { authority, certificate, key } = await sharedPair(client, flags, options);
  await trustWebhook(client, { flags, authority });
  const folder = flags["webhook-cert-dir"];
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await put(files.certificate, certificate);
    await put(files.key, key);
    return files;
  } catch (error) {
    if (!cannotWrite.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    memory.set({ certificate, key });
    return { ...files, memory };
  }
}

/**
 * A read-only root filesystem, for which Node's recursive `mkdir` reports ENOENT instead of EROFS if several folders are missing. A full
 * disk is an error.
 */
const cannotWrite: readonly string[] = ["EROFS", "EACCES", "EPERM", "ENOENT"];

async function put(path: string, text: string): Promise<void> {
  const found = await readFile(path, "utf8").catch(() => undefined);
  if (found !== text) await writeFile(path, text, { mode: 0o600 });
}

/** The certificate may need renewal, or another replica may have renewed it. */
const checkEveryMs = 3_600_000;

/** Calls `check` once an hour until disposed. Failures are logged and retried the next time. */
export function keepCertificates(
  check: () => Promise<unknown>,
  { log, scheduler = systemScheduler }: { readonly log: Logger; readonly scheduler?: Scheduler },
): AsyncDisposable {
  let checking: Promise<void> = Promise.resolve();
  let timer: Disposable | undefined;
  const attempt = async (): Promise<void> => {
    try {
      await check();
    } catch (error) {
      log.error({ err: error }, "webhook certificates not checked");
    }
  };
  const wait = (): void => {
    timer = scheduler.schedule(checkEveryMs, () => {
      wait();
      checking = attempt();
    });
  };
  wait();
  return {
    [Symbol.asyncDispose]: () => {
      timer?.[Symbol.dispose]();
      return checking;
    },
  };
}

/** Finds the files of a certificate that the user manages. A combined `cert.pem` is used if neither default file exists. */
export async function findCertificates(flags: WebhookFlags): Promise<CertificateFiles> {
  const folder = flags["webhook-cert-dir"];
  const [certificate, key] = [join(folder, flags["webhook-cert-name"]), join(folder, flags["webhook-key-name"])];
  const [hasCertificate, hasKey] = [await isFile(certificate), await isFile(key)];
  if (hasCertificate && hasKey) return { certificate, key };
  const areDefault = flags["webhook-cert-name"] === "tls.crt" && flags["webhook-key-name"] === "tls.key";
  const combined = join(folder, "cert.pem");
  if (areDefault && !hasCertificate && !hasKey && (await isFile(combined)))
    return { certificate: combined, key: combined };
  throw new Error(`Cannot serve the webhook: there is no ${hasCertificate ? `"${key}"` : `"${certificate}"`}`);
}

/** Throws if the path exists and is not a file. */
async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`Cannot serve the webhook: "${path}": ${error.message}`, { cause: error });
  });
  if (found !== undefined && !found.isFile()) throw new Error(`Cannot serve the webhook: "${path}" is not a file`);
  return found !== undefined;
}
