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
    /** The namespace of the Pod at an address; `undefined` when there is no such Pod. */
    namespaceOf(address: string): string | undefined;
    /** See `answerFor`. */
    lookUp(from: string, name: string): NameAnswer;
  };
  /** Who is asked about all other names: IPv4 addresses, with a port other than 53 where needed. Default: those of the machine. */
  readonly upstreams?: readonly string[];
  readonly log: Logger;
}

const ttlSeconds = 5;
/** Questions passed on at a time, and connections: one namespace has a quarter of them at most. */
const upstreamShares = { total: 256, namespace: 64, pod: 16 };
const connectionShares = { total: 256, namespace: 32, pod: 4 };
/** Questions of one namespace that are answered; the rest is dropped, as a network would. */
const questionsPerSecond = 500;
const maxMessage = 4096;
/** Answers that a connection has not read yet. */
const maxUnread = 65_536;
const codes = { formatError: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 } as const;

/**
 * The name service of the Pods: answers for the cluster's names itself and passes others on, as far as the Pod that asks may
 * know. Pods are known by their address, which the firewall holds them to; all others are refused.
 */
export class NameServer implements AsyncDisposable {
  readonly #options: NameServerOptions;
  readonly #udp: UdpSocket = createSocket("udp4");
  readonly #tcp: Server;
  readonly #asked = new PodSlots(upstreamShares);
  readonly #connected = new PodSlots(connectionShares);
  readonly #rate = new Rate(questionsPerSecond);
  #upstreams: readonly string[] = [];
  /** An answer from upstream may come after the socket was closed, and sending it would throw. */
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
      each.on("error", (error) => options.log.warn({ err: error }, "name service failed"));
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

  /** Nothing for what is no question: whoever sent it gets no packet to reflect. */
  async #answer(message: Buffer, from: string): Promise<Buffer | undefined> {
    const namespace = this.#options.names.namespaceOf(from);
    if (message.length > maxMessage || (namespace !== undefined && !this.#rate.allows(namespace))) return undefined;
    const query = parsed(message);
    if (query?.type !== "query") return undefined;
    const [question, ...more] = query.questions ?? [];
    // Opcodes other than QUERY are for the servers of a zone, such as an update of it.
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

  /** The same over TCP: each message follows its length. One question at a time, so that a flood waits in the Pod. */
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

/** Copies of whole zones are not for Pods. */
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
    // The lowest four bits tell what came of it.
    flags: AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | ((query.flags ?? 0) & 0x0100) | code,
    questions: query.questions ?? [],
    answers,
  });
}
