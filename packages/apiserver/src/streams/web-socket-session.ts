import type { Readable } from "node:stream";
import type { ExecSession } from "@agent-sandbox/kube";
import type { RawData, WebSocket } from "ws";
import { valueAt } from "../api-object.ts";
import { exitStatus, lostStatus } from "./exit-status.ts";

/** The first byte of every message says what it carries. */
const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** A peer that does not answer for two of these is gone. */
const pingMs = 30_000;

interface SessionOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * Joins a command and a client until one of them ends. Output waits for the client and input for the command, so that
 * neither is buffered here; a client that hangs up ends the command.
 */
export async function runSession(socket: WebSocket, session: ExecSession, options: SessionOptions): Promise<void> {
  const stopPings = keepAlive(socket);
  socket.on("error", () => socket.terminate());
  socket.once("close", () => {
    stopPings();
    session.kill();
  });
  receive(socket, session, options);
  await Promise.all([
    forward(session.stdout, socket, options.stdout ? channel.stdout : undefined),
    forward(session.stderr, socket, options.stderr ? channel.stderr : undefined),
  ]);
  const status = await session.exit.then(exitStatus, (error: unknown) => lostStatus(String(error)));
  await send(socket, channel.error, Buffer.from(JSON.stringify(status)));
  socket.close(1000);
}

function keepAlive(socket: WebSocket): () => void {
  let answered = true;
  socket.on("pong", () => {
    answered = true;
  });
  const timer = setInterval(() => {
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
  }, pingMs).unref();
  return () => clearInterval(timer);
}

function receive(socket: WebSocket, session: ExecSession, { stdin, tty }: SessionOptions): void {
  const input = session.stdin;
  input.on("error", () => undefined);
  input.on("drain", () => socket.resume());
  input.once("close", () => socket.resume());
  if (!stdin) input.end();
  socket.on("message", (data: RawData) => {
    const message = bytesOf(data);
    const content = message.subarray(1);
    switch (message[0]) {
      case channel.stdin:
        if (stdin && content.length > 0 && input.writable && !input.write(content)) socket.pause();
        return;
      case channel.resize:
        if (tty) resize(session, content);
        return;
      case channel.close:
        if (content[0] === channel.stdin) input.end();
        return;
      default:
        return;
    }
  });
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? Buffer.from(data) : data;
}

const maxTerminalSide = 65_535;

function resize(session: ExecSession, content: Buffer): void {
  const size = parseSize(content.toString());
  const columns = valueAt(size, "Width");
  const rows = valueAt(size, "Height");
  if (fits(columns) && fits(rows)) session.resize(columns, rows);
}

function fits(side: unknown): side is number {
  return Number.isInteger(side) && Number(side) > 0 && Number(side) <= maxTerminalSide;
}

function parseSize(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A size that cannot be read changes nothing.
    return undefined;
  }
}

async function forward(output: Readable, socket: WebSocket, to: number | undefined): Promise<void> {
  try {
    for await (const chunk of output as AsyncIterable<Buffer | string>) {
      if (to !== undefined) await send(socket, to, Buffer.from(chunk));
    }
  } catch {
    // A command that is killed tears its outputs; its exit says why.
  }
}

/** Resolves when the message has left for the network, or never will. */
async function send(socket: WebSocket, to: number, content: Buffer): Promise<void> {
  if (socket.readyState !== socket.OPEN) return;
  await new Promise<void>((resolve) => socket.send(Buffer.concat([Buffer.from([to]), content]), () => resolve()));
}
