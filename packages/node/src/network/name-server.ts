import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "@agent-sandbox/kube";
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, type Packet, RECURSION_AVAILABLE } from "dns-packet";

export interface NameServerOptions {
  readonly address: string;
  readonly port?: number;
  /** See `addressesOf`. */
  readonly lookUp: (name: string) => readonly string[] | undefined;
  /** Who is asked about all other names. Default: those of the machine. */
  readonly upstreams?: readonly string[];
  readonly log: Logger;
}

const ttlSeconds = 5;
const upstreamMs = 3000;
/** Questions passed on at a time: a flood of them is dropped, as a network would. */
const maxAsked = 256;
const maxConnections = 64;
const maxMessage = 4096;
const noSuchName = 3;
const serverFailure = 2;
const formatError = 1;

/** The name service of the Pods: answers for the cluster's names itself and passes all others on. */
export class NameServer implements AsyncDisposable {
  readonly #options: NameServerOptions;
  readonly #udp: UdpSocket = createSocket("udp4");
  readonly #tcp: Server;
  #upstreams: readonly string[] = [];
  #asked = 0;

  private constructor(options: NameServerOptions) {
    this.#options = options;
    this.#tcp = createServer((socket) => this.#serve(socket));
    this.#tcp.maxConnections = maxConnections;
  }

  static async start(options: NameServerOptions): Promise<NameServer> {
    const server = new NameServer(options);
    const { address, port = 53 } = options;
    server.#upstreams = options.upstreams ?? (await machineServers());
    server.#udp.bind(port, address);
    await once(server.#udp, "listening");
    server.#tcp.listen(server.port, address);
    await once(server.#tcp, "listening");
    server.#udp.on("message", (message, { address: to, port: back }) => {
      void server.#answer(message).then((answer) => answer && server.#udp.send(answer, back, to));
    });
    for (const each of [server.#udp, server.#tcp]) {
      each.on("error", (error) => options.log.warn({ err: error }, "name service failed"));
    }
    return server;
  }

  get port(): number {
    return this.#udp.address().port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tcp.close();
    await new Promise<void>((resolve) => this.#udp.close(resolve));
  }

  /** Nothing for what is no question: whoever sent it gets no packet to reflect. */
  async #answer(message: Buffer): Promise<Buffer | undefined> {
    let query: Packet;
    try {
      query = decode(message);
    } catch {
      return undefined;
    }
    if (query.type !== "query") return undefined;
    const [question, ...more] = query.questions ?? [];
    if (question === undefined || more.length > 0) return reply(query, { code: formatError });
    const found = this.#options.lookUp(question.name);
    if (found === undefined) return this.#passOn(message, query);
    const answers = question.type === "A" ? found : [];
    return reply(query, {
      code: found.length === 0 ? noSuchName : 0,
      answers: answers.map((data) => ({ type: "A", name: question.name, ttl: ttlSeconds, data })),
    });
  }

  async #passOn(message: Buffer, query: Packet): Promise<Buffer> {
    if (this.#asked >= maxAsked) return reply(query, { code: serverFailure });
    this.#asked += 1;
    try {
      for (const upstream of this.#upstreams) {
        const answer = await ask(upstream, message).catch(() => undefined);
        if (answer !== undefined) return answer;
      }
      return reply(query, { code: serverFailure });
    } finally {
      this.#asked -= 1;
    }
  }

  /** The same over TCP: each message follows its length. */
  #serve(socket: Socket): void {
    let rest = Buffer.alloc(0);
    socket.setTimeout(10_000, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        const message = rest.subarray(2, 2 + rest.readUInt16BE(0));
        rest = rest.subarray(2 + message.length);
        void this.#answer(message).then((answer) => answer && !socket.destroyed && socket.write(framed(answer)));
      }
      if (rest.length > maxMessage) socket.destroy();
    });
  }
}

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

function reply(query: Packet, { code, answers = [] }: { code: number; answers?: Answer[] }): Buffer {
  return encode({
    type: "response",
    ...(query.id !== undefined && { id: query.id }),
    // The lowest four bits tell what came of it.
    flags: AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | ((query.flags ?? 0) & 0x0100) | code,
    questions: query.questions ?? [],
    answers,
  });
}

/** Over UDP: an answer that is cut off says so, and the Pod asks again over TCP, which is answered the same way. */
function ask(server: string, message: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    let ended = false;
    const timer = setTimeout(() => end(new Error("no answer")), upstreamMs);
    const end = (result: Buffer | Error): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      socket.close();
      if (result instanceof Error) reject(result);
      else resolve(result);
    };
    socket.once("error", end);
    // Connected: the kernel lets nobody else answer.
    socket.connect(53, server, () => socket.send(message));
    socket.once("message", end);
  });
}

async function machineServers(): Promise<string[]> {
  const text = await readFile("/etc/resolv.conf", "utf8").catch(() => "");
  return [...text.matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)/gm)].map(([, server]) => server as string);
}
