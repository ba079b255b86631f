import { podNameAnnotation, sandboxes } from "@agent-sandbox/api";
import { type ClusterAccess, isReason } from "@agent-sandbox/kube";
import { WebSocket } from "ws";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { execProtocol, runExec, sendResize } from "../client/exec-channel.ts";
import { CommandError } from "../command-error.ts";

export interface ExecOptions extends GlobalOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly container?: string;
}

export async function exec(sandbox: string, given: readonly string[], options: ExecOptions): Promise<void> {
  const words = given[0] === "--" ? given.slice(1) : given;
  if (words.length === 0) throw new CommandError("no command to run: write it after --, as in exec my-sandbox -- ls");
  await using connection = await connect(options);
  const pod = await podOf(connection, sandbox);
  const tty = options.tty === true && process.stdin.isTTY;
  const query = new URLSearchParams({ stdout: "true", stderr: String(!tty), stdin: String(options.stdin === true) });
  query.set("tty", String(tty));
  if (options.container !== undefined) query.set("container", options.container);
  for (const word of words) query.append("command", word);
  const path = `/api/v1/namespaces/${encodeURIComponent(connection.namespace)}/pods/${encodeURIComponent(pod)}/exec`;
  const socket = await openSocket(connection.access, `${path}?${query.toString()}`);
  using _terminal = tty ? rawTerminal(socket) : undefined;
  const stdin = options.stdin === true ? process.stdin : undefined;
  process.exitCode = await runExec(socket, { stdin, stdout: process.stdout, stderr: process.stderr });
}

/** A Sandbox's Pod has its name unless the Sandbox notes another. */
async function podOf({ client, namespace }: Connection, name: string): Promise<string> {
  try {
    const found = await client.get(sandboxes, { name, namespace });
    return found.metadata.annotations?.[podNameAnnotation] || name;
  } catch (error) {
    if (isReason(error, "NotFound")) throw new CommandError(`sandbox "${name}" not found in namespace "${namespace}"`);
    throw error;
  }
}

async function openSocket(access: ClusterAccess, path: string): Promise<WebSocket> {
  const { authorization, certificate } = await access.credentials.get();
  const { ca, serverName, insecure } = access.tls ?? {};
  const socket = new WebSocket(`${access.server.replace(/^http/, "ws")}${path}`, [execProtocol], {
    ...(ca !== undefined && { ca }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(insecure === true && { rejectUnauthorized: false }),
    ...certificate,
    headers: { ...access.headers, ...(authorization !== undefined && { authorization }) },
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve).once("error", reject);
    socket.once("unexpected-response", (_request, response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("end", () => reject(new CommandError(refusal(Buffer.concat(chunks), response.statusCode))));
    });
  });
  return socket;
}

function refusal(body: Buffer, status: number | undefined): string {
  try {
    return (JSON.parse(body.toString("utf8")) as { message?: string }).message ?? `the server answered ${status}`;
  } catch {
    return `the server answered ${status}`;
  }
}

/** Keys go to the sandbox as they are typed, and the window's size follows. Undone when the command ends. */
function rawTerminal(socket: WebSocket): Disposable {
  const resize = () => sendResize(socket, process.stdout.columns, process.stdout.rows);
  process.stdin.setRawMode(true);
  process.stdout.on("resize", resize);
  resize();
  return {
    [Symbol.dispose]() {
      process.stdout.off("resize", resize);
      process.stdin.setRawMode(false);
    },
  };
}
