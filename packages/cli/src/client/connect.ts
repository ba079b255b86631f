import { existsSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import {
  type Client,
  type ClusterAccess,
  createClient,
  HttpTransport,
  loadDefault,
} from "@agent-sandbox/kube/requests";
import { type BoxPaths, boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox, type RunningBox } from "../box/running-box.ts";
import { CommandError } from "../command-error.ts";

/** The options every command has. */
export interface GlobalOptions {
  readonly dataDir?: string;
  readonly kubeconfig?: string;
  /** A context of the kubeconfig. Without `kubeconfig` and `dataDir` it is one of kubectl's files. */
  readonly context?: string;
  readonly namespace?: string;
}

/** A connection to an API server. Dispose it at the end of the command. */
export interface Connection extends AsyncDisposable {
  readonly access: ClusterAccess;
  readonly transport: HttpTransport;
  readonly client: Client;
  /** The namespace of objects that do not name one. */
  readonly namespace: string;
  /** The running box, if the server is that of the box on this machine. */
  readonly box?: RunningBox;
}

/** Connects to the server of `--kubeconfig` or `--context`, otherwise to the running box, otherwise to the server kubectl would use. */
export async function connect(options: GlobalOptions): Promise<Connection> {
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const { context } = options;
  const isKubectls = context !== undefined && options.dataDir === undefined;
  const box = options.kubeconfig === undefined && !isKubectls ? runningBox(paths, options) : undefined;
  const path = options.kubeconfig ?? (box && kubeconfigOf(paths));
  if (path === undefined && !isKubectls && (options.dataDir !== undefined || !process.env["KUBECONFIG"])) {
    throw new CommandError(
      `no box is running in ${paths.dataDir}: start one with "agent-sandbox up", or pass --kubeconfig`,
    );
  }
  const { access, error } = await loadDefault({
    ...(path !== undefined && { path }),
    ...(context !== undefined && { context }),
  });
  if (error !== undefined) throw new CommandError(error);
  trustOnly(access);
  const transport = new HttpTransport(access, { startsFast: true });
  const client = createClient(transport, { fieldManager: "agent-sandbox", onWarning: warnOnce() });
  const namespace = options.namespace ?? access.namespace;
  return { access, transport, client, namespace, ...(box && { box }), [Symbol.asyncDispose]: () => client.close() };
}

/**
 * Replaces the authorities of this process. Otherwise Node parses its 150 built-in ones for the first TLS connection, even if the
 * connection trusts only one. The launcher passes --use-openssl-ca so that Node does not begin with that at its start.
 */
function trustOnly({ tls }: ClusterAccess): void {
  const builtIn = () => [...getCACertificates("bundled"), ...getCACertificates("extra")];
  setDefaultCACertificates(tls.ca === undefined ? builtIn() : [tls.ca]);
}

/** Root's kubeconfig, or that of the box's group for its members. */
export function kubeconfigOf({ kubeconfig, groupKubeconfig }: BoxPaths): string {
  return process.getuid?.() !== 0 && existsSync(groupKubeconfig) ? groupKubeconfig : kubeconfig;
}

/** Ignores a box of another user if KUBECONFIG names a server. */
function runningBox(paths: BoxPaths, { dataDir }: GlobalOptions): RunningBox | undefined {
  try {
    return findRunningBox(paths);
  } catch (error) {
    if (dataDir === undefined && process.env["KUBECONFIG"]) return undefined;
    throw error;
  }
}

/** Prints each warning once, because a command can receive the same one several times. */
function warnOnce(): (text: string) => void {
  const said = new Set<string>();
  return (text) => {
    if (!said.has(text)) console.error(`Warning: ${text}`);
    said.add(text);
  };
}
