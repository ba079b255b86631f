import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "@agent-sandbox/kube";
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_AVAILABLE,
} from "dns-packet";
import { askUpstream, machineServers } from "./ask-upstream.ts";
import type { NameAnswer } from "./name-access.ts";
import { PodSlots, Rate } from "./pod-slots.ts";

export interface NameServerOptions {
  readonly address: string;
  readonly port?: number;
  readonly names: {
    /** The namespace of the Pod with an address, or `undefined` if there is no such Pod. */
    namespaceOf(address: string): string | undefined;
    /** See `answerFor`. */
    lookUp(from: string, name: string): NameAnswer;
  };
  /** DNS servers for all other names: IPv4 addresses, optionally with a port. Default: those of the machine. */
  readonly upstreams?: readonly string[];
  readonly log: Logger;
}

const ttlSeconds = 5;
/** Concurrent forwarded queries and connections. One namespace gets at most a quarter of them. */
const upstreamShares = { total: 256, namespace: 64, pod: 16 };
const connectionShares = { total: 256, namespace: 32, pod: 4 };
/** Queries of one namespace that are answered. The rest is dropped, as a network drops packets. */
const questionsPerSecond = 500;
const maxMessage = 4096;
/** Bytes of responses that a client has not read yet. */
const maxUnread = 65_536;
const codes = { formatError: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 } as const;

/**
 * The DNS server of the Pods. It answers names of the cluster itself and forwards others, as far as the asking Pod may resolve
 * them. A Pod is identified by its source address, which the firewall enforces. All other clients are refused.
 */
export class NameServer implements AsyncDisposable {
  readonly #options: NameServerOptions;
  readonly #udp: UdpSocket = createSocket("udp4");
  readonly #tcp: Server;
  readonly #asked = new PodSlots(upstreamShares);
  readonly #connected = new PodSlots(connectionShares);
  readonly #rate = new Rate(questionsPerSecond);
  #upstreams: readonly string[] = [];
  /** A response from upstream may arrive after the socket was closed, and sending it would throw. */
  #isClosed = false;

  private constructor(options: NameServerOptions) {
    this.#options = options;
    this.#tcp = createServer((socket) => this.#accept(socket));
  }

  static async start(options: NameServerOptions): Promise<NameServer> {
    const server = new NameServer(options);
    const { address, port = 53 } = options;
    server.#upstreams = options.upstreams ?? (await machineServers());
    server.#udp.bind(port, address);
    await once(server.#udp, "listening");
    server.#tcp.listen(server.port, address);
    await once(server.#tcp, "listening");
    server.#udp.on("message", (message, { address: from, port: back }) => {
      void server
        .#answer(message, from)
        .then((answer) => answer && !server.#isClosed && server.#udp.send(answer, back, from));
    });
    for (const each of [server.#udp, server.#tcp]) {
      each.on("error", (error) => options.log.warn({ err: error }, "DNS server failed"));
    }
    return server;
  }

  get port(): number {
    return this.#udp.address().port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#tcp.close();
    await new Promise<void>((resolve) => this.#udp.close(resolve));
  }

  /** Sends no response to a message that is not a query, so that the server cannot be used for reflection. */
  async #answer(message: Buffer, from: string): Promise<Buffer | undefined> {
    const namespace = this.#options.names.namespaceOf(from);
    if (message.length > maxMessage || (namespace !== undefined && !this.#rate.allows(namespace))) return undefined;
    const query = parsed(message);
    if (query?.type !== "query") return undefined;
    const [question, ...more] = query.questions ?? [];
    // Other opcodes than QUERY, such as UPDATE, are for authoritative servers.
    if (((query.flags ?? 0) >> 11) & 15) return reply(query, { code: codes.notImplemented });
    if (question === undefined || more.length > 0) return reply(query, { code: codes.formatError });
    const found = namespace === undefined ? "refused" : this.#options.names.lookUp(from, question.name);
    if (namespace === undefined || found === "refused") return reply(query, { code: codes.refused });
    if (found === "ask-others") return this.#passOn(query, question, { namespace, from });
    const answers = question.type === "A" ? found.addresses : [];
    return reply(query, {
      code: found.addresses.length === 0 ? codes.noSuchName : 0,
      answers: answers.map((data) => ({ type: "A", name: question.name, ttl: ttlSeconds, data })),
    });
  }

  async #passOn(
    query: Packet,
    question: Question,
    { namespace, from }: { readonly namespace: string; readonly from: string },
  ): Promise<Buffer> {
    if (question.class !== "IN" || isTransfer(question)) return reply(query, { code: codes.refused });
    const done = this.#asked.take(namespace, from);
    if (done === undefined) return reply(query, { code: codes.serverFailure });
    try {
      for (const upstream of this.#upstreams) {
        const answer = await askUpstream(upstream, query, question).catch(() => undefined);
        if (answer !== undefined) return answer;
      }
      return reply(query, { code: codes.serverFailure });
    } finally {
      done();
    }
  }

  #accept(socket: Socket): void {
    const from = socket.remoteAddress ?? "";
    const namespace = this.#options.names.namespaceOf(from);
    const done = namespace === undefined ? undefined : this.#connected.take(namespace, from);
    socket.on("error", () => socket.destroy());
    if (done === undefined) socket.destroy();
    else {
      socket.once("close", done);
      this.#serve(socket, from);
    }
  }

  /** DNS over TCP: a length precedes each message. Handles one query at a time, so that a flood waits in the Pod. */
  #serve(socket: Socket, from: string): void {
    let rest = Buffer.alloc(0);
    let isBusy = false;
    socket.setTimeout(10_000, () => socket.destroy());
    const next = async (): Promise<void> => {
      if (isBusy) return;
      isBusy = true;
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0) && !socket.destroyed) {
        const message = rest.subarray(2, 2 + rest.readUInt16BE(0));
        rest = rest.subarray(2 + message.length);
        const answer = await this.#answer(message, from);
        if (answer !== undefined && !socket.destroyed) socket.write(framed(answer));
        if (socket.writableLength > maxUnread) socket.destroy();
      }
      isBusy = false;
    };
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      if (rest.length > maxUnread || (rest.length >= 2 && rest.readUInt16BE(0) > maxMessage)) socket.destroy();
      else void next();
    });
  }
}

function parsed(message: Buffer): Packet | undefined {
  try {
    return decode(message);
  } catch {
    return undefined;
  }
}

/** Pods may not request zone transfers. */
const isTransfer = ({ type }: Question): boolean => type === "AXFR" || type === "IXFR";

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

function reply(query: Packet, { code, answers = [] }: { code: number; answers?: Answer[] }): Buffer {
  return encode({
    type: "response",
    ...(query.id !== undefined && { id: query.id }),
    // The lowest four bits are the response code.
    flags: AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | ((query.flags ?? 0) & 0x0100) | code,
    questions: query.questions ?? [],
    answers,
  });
}
