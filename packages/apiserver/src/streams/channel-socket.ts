import { Readable, Writable } from "node:stream";
import type { RawData, WebSocket } from "ws";

/** A message with this channel number and the number of another channel closes that channel. */
const closeChannel = 255;

/** A peer that does not answer two pings is considered disconnected. */
const pingMs = 30_000;

/** A WebSocket with several channels: the first byte of each message is the number of its channel. */
export class ChannelSocket {
  /** Settles when the client has disconnected. */
  readonly gone: Promise<void>;
  readonly #socket: WebSocket;
  readonly #inputs = new Map<number, Readable>();
  readonly #listeners = new Map<number, (message: string) => void>();
  /** Inputs whose buffer is full. */
  readonly #full = new Set<Readable>();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("error", () => socket.terminate());
    socket.on("message", (data: RawData) => this.#receive(bytesOf(data)));
    const stopPings = keepAlive(socket);
    this.gone = new Promise((resolve) => {
      socket.once("close", () => {
        stopPings();
        for (const input of this.#inputs.values()) input.destroy();
        resolve();
      });
    });
  }

  /** The client's data on a channel. While it is not read, nothing is read from the socket. */
  input(channel: number): Readable {
    const input: Readable = new Readable({
      read: () => this.#release(input),
      destroy: (error, done) => {
        this.#release(input);
        done(error);
      },
    });
    this.#inputs.set(channel, input);
    return input;
  }

  /** Sends data to the client on a channel, as fast as the client reads. */
  output(channel: number): Writable {
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => this.#socket.send(framed(channel, chunk), done),
    });
    // The end of the connection is reported once, by `gone`.
    output.on("error", () => undefined);
    void this.gone.then(() => output.destroy());
    return output;
  }

  /** Calls back with each message on a channel as text. */
  listen(channel: number, listener: (message: string) => void): void {
    this.#listeners.set(channel, listener);
  }

  /** Resolves when the message was handed to the network. */
  async send(channel: number, content: Buffer): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.send(framed(channel, content), (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): void {
    this.#socket.close(1000);
  }

  #receive(message: Buffer): void {
    const [channel = closeChannel] = message;
    const content = message.subarray(1);
    if (channel === closeChannel) {
      const ended = content[0] ?? closeChannel;
      this.#inputs.get(ended)?.push(null);
      // Further data on the channel is ignored.
      this.#inputs.delete(ended);
      return;
    }
    this.#listeners.get(channel)?.(content.toString());
    const input = this.#inputs.get(channel);
    if (input === undefined || input.destroyed || content.length === 0 || input.push(content)) return;
    this.#full.add(input);
    this.#socket.pause();
  }

  #release(input: Readable): void {
    if (this.#full.delete(input) && this.#full.size === 0) this.#socket.resume();
  }
}

const framed = (channel: number, content: Buffer): Buffer => Buffer.concat([Buffer.from([channel]), content]);

function keepAlive(socket: WebSocket): () => void {
  let answered = true;
  socket.on("pong", () => {
    answered = true;
  });
  const timer = setInterval(() => {
    // A pong cannot arrive while the socket is paused. Sending a ping still detects a broken connection.
    if (!socket.isPaused && !answered) return socket.terminate();
    answered = socket.isPaused;
    socket.ping();
  }, pingMs).unref();
  return () => clearInterval(timer);
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? Buffer.from(data) : data;
}
