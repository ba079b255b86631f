/** One frame of SPDY/3.1. A long DATA frame is parsed as several, of which only the last can have `fin`. */
export type Frame =
  | { readonly type: "data"; readonly streamId: number; readonly fin: boolean; readonly bytes: Buffer }
  | HeaderFrame
  | { readonly type: "rst-stream"; readonly streamId: number; readonly status: number }
  | { readonly type: "settings"; readonly values: ReadonlyMap<number, number> }
  | { readonly type: "ping"; readonly id: number }
  | { readonly type: "go-away"; readonly lastStreamId: number; readonly status: number }
  | { readonly type: "window-update"; readonly streamId: number; readonly delta: number };

/** A frame with compressed headers. */
export interface HeaderFrame {
  readonly type: "syn-stream" | "syn-reply" | "headers";
  readonly streamId: number;
  readonly fin: boolean;
  readonly headerBlock: Buffer;
}

export const protocolVersion = 3;

export const controlType = {
  "syn-stream": 1,
  "syn-reply": 2,
  "rst-stream": 3,
  settings: 4,
  ping: 6,
  "go-away": 7,
  headers: 8,
  "window-update": 9,
} as const;

export const flagFin = 1;

export const resetStatus = { protocolError: 1, refusedStream: 3, cancel: 5, flowControlError: 7 } as const;
export const goAwayStatus = { ok: 0, protocolError: 1 } as const;
export const setting = { maxConcurrentStreams: 4, initialWindowSize: 7 } as const;

/** The initial window of streams and of the connection. */
export const initialWindowBytes = 65_536;

/** The length of a frame is 24 bits. */
const longestPayload = 0xff_ff_ff;
const headLength = 8;

export function encodeFrame(frame: Frame): Buffer {
  switch (frame.type) {
    case "data":
      return encodeData(frame);
    case "syn-stream":
      // No associated stream, the highest priority, no credential slot.
      return control(
        "syn-stream",
        frame,
        Buffer.concat([words(frame.streamId, 0), Buffer.alloc(2), frame.headerBlock]),
      );
    case "syn-reply":
    case "headers":
      return control(frame.type, frame, Buffer.concat([words(frame.streamId), frame.headerBlock]));
    case "rst-stream":
      return control("rst-stream", {}, words(frame.streamId, frame.status));
    case "settings":
      return control("settings", {}, words(frame.values.size, ...[...frame.values].flat()));
    case "ping":
      return control("ping", {}, words(frame.id));
    case "go-away":
      return control("go-away", {}, words(frame.lastStreamId, frame.status));
    case "window-update":
      return control("window-update", {}, words(frame.streamId, frame.delta));
    default:
      return frame satisfies never;
  }
}

function encodeData({ streamId, fin, bytes }: Extract<Frame, { type: "data" }>): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUInt32BE(streamId);
  writeLength(head, fin, bytes.length);
  return Buffer.concat([head, bytes]);
}

function control(type: keyof typeof controlType, { fin = false }: { fin?: boolean }, payload: Buffer): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUInt16BE(0x80_00 | protocolVersion);
  head.writeUInt16BE(controlType[type], 2);
  writeLength(head, fin, payload.length);
  return Buffer.concat([head, payload]);
}

function writeLength(head: Buffer, fin: boolean, length: number): void {
  if (length > longestPayload) throw new RangeError(`Cannot send a frame of ${length} bytes: ${longestPayload} fit`);
  head.writeUInt8(fin ? flagFin : 0, 4);
  head.writeUIntBE(length, 5, 3);
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * 4);
  return bytes;
}
