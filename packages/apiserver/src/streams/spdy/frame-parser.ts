import { controlType, type Frame, flagFin, protocolVersion } from "./frames.ts";

/** Control frames are buffered until complete. Header blocks of clients have a few hundred bytes. */
const maxControlBytes = 32 * 1024;
const maxSettings = 100;
const headLength = 8;

/** A protocol violation. Parsing cannot continue, so the connection must be closed. */
export interface Malformed {
  readonly type: "malformed";
  readonly why: string;
}

type State =
  | { readonly at: "head" }
  | { readonly at: "control"; readonly head: Buffer; readonly length: number }
  | { readonly at: "data"; readonly streamId: number; readonly fin: boolean; readonly left: number }
  | { readonly at: "broken" };

/**
 * Parses a stream of bytes into SPDY/3.1 frames. It buffers at most one control frame; data is emitted as it arrives, so that a
 * frame of 16 MiB needs no buffer. Control frames of unknown types are skipped, as the protocol requires.
 */
export class FrameParser {
  #state: State = { at: "head" };
  #held: Buffer = Buffer.alloc(0);

  *push(chunk: Buffer): Generator<Frame | Malformed> {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const step = this.#step(this.#state);
      if (step === "more") return;
      if (step !== undefined) yield step;
    }
  }

  /** Returns a frame, `undefined` to continue, or "more" when more bytes are needed. */
  #step(state: State): Frame | Malformed | undefined | "more" {
    switch (state.at) {
      case "head":
        return this.#held.length < headLength ? "more" : this.#begin(this.#take(headLength));
      case "control": {
        if (this.#held.length < state.length) return "more";
        this.#state = { at: "head" };
        const frame = readControl(state.head, this.#take(state.length));
        return frame?.type === "malformed" ? this.#break(frame.why) : frame;
      }
      case "data":
        return this.#readData(state);
      case "broken":
        this.#held = Buffer.alloc(0);
        return "more";
      default:
        return state satisfies never;
    }
  }

  #begin(head: Buffer): Malformed | undefined {
    const length = head.readUIntBE(5, 3);
    const first = head.readUInt32BE();
    if (first < 0x80_00_00_00) {
      if (first === 0) return this.#break("data on stream 0");
      this.#state = { at: "data", streamId: first, fin: isFin(head), left: length };
      return undefined;
    }
    const version = head.readUInt16BE() & 0x7f_ff;
    if (version !== protocolVersion) return this.#break(`version ${version} instead of ${protocolVersion}`);
    if (length > maxControlBytes) return this.#break(`a control frame of ${length} bytes`);
    this.#state = { at: "control", head, length };
    return undefined;
  }

  #readData({ streamId, fin, left }: Extract<State, { at: "data" }>): Frame | "more" {
    if (this.#held.length === 0 && left > 0) return "more";
    const bytes = this.#take(Math.min(left, this.#held.length));
    const rest = left - bytes.length;
    this.#state = rest === 0 ? { at: "head" } : { at: "data", streamId, fin, left: rest };
    return { type: "data", streamId, fin: fin && rest === 0, bytes };
  }

  #break(why: string): Malformed {
    this.#state = { at: "broken" };
    return { type: "malformed", why };
  }

  #take(length: number): Buffer {
    const taken = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return taken;
  }
}

const isFin = (head: Buffer): boolean => (head.readUInt8(4) & flagFin) !== 0;

/** The minimum payload length of each type. A header block or list may follow. */
const shortest: Readonly<Record<number, number>> = {
  [controlType["syn-stream"]]: 10,
  [controlType["syn-reply"]]: 4,
  [controlType["rst-stream"]]: 8,
  [controlType.settings]: 4,
  [controlType.ping]: 4,
  [controlType["go-away"]]: 8,
  [controlType.headers]: 4,
  [controlType["window-update"]]: 8,
};

function readControl(head: Buffer, payload: Buffer): Frame | Malformed | undefined {
  const type = head.readUInt16BE(2);
  const needed = shortest[type];
  if (needed === undefined) return undefined;
  if (payload.length < needed) return { type: "malformed", why: `a frame of type ${type} cut short` };
  const first = payload.readUInt32BE();
  const streamId = first & 0x7f_ff_ff_ff;
  const fin = isFin(head);
  switch (type) {
    case controlType["syn-stream"]:
      return { type: "syn-stream", streamId, fin, headerBlock: payload.subarray(10) };
    case controlType["syn-reply"]:
      return { type: "syn-reply", streamId, fin, headerBlock: payload.subarray(4) };
    case controlType.headers:
      return { type: "headers", streamId, fin, headerBlock: payload.subarray(4) };
    case controlType["rst-stream"]:
      return { type: "rst-stream", streamId, status: payload.readUInt32BE(4) };
    case controlType.settings:
      return readSettings(first, payload.subarray(4));
    case controlType.ping:
      return { type: "ping", id: first };
    case controlType["go-away"]:
      return { type: "go-away", lastStreamId: streamId, status: payload.readUInt32BE(4) };
    default:
      return { type: "window-update", streamId, delta: payload.readUInt32BE(4) & 0x7f_ff_ff_ff };
  }
}

function readSettings(count: number, entries: Buffer): Frame | Malformed {
  if (count > maxSettings || entries.length !== count * 8) return { type: "malformed", why: `${count} settings` };
  const values = new Map<number, number>();
  for (let at = 0; at < entries.length; at += 8) {
    // The first byte of an entry contains flags.
    values.set(entries.readUInt32BE(at) & 0xff_ff_ff, entries.readUInt32BE(at + 4));
  }
  return { type: "settings", values };
}
