/** Writes one protobuf message. Fields are written in the order of the calls; empty ones are left out. */
export class ProtoWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  text(field: number, value: string | undefined): this {
    return value === undefined || value === "" ? this : this.#bytes(field, Buffer.from(value));
  }

  texts(field: number, values: readonly string[] | undefined): this {
    for (const value of values ?? []) this.#bytes(field, Buffer.from(value));
    return this;
  }

  flag(field: number, value: boolean | undefined): this {
    if (value !== true) return this;
    return this.#add(varint(field * 8)).#add(varint(1));
  }

  double(field: number, value: number | undefined): this {
    if (value === undefined) return this;
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return this.#add(varint(field * 8 + 1)).#add(bytes);
  }

  message(field: number, message: ProtoWriter | undefined): this {
    return message === undefined ? this : this.#bytes(field, message.finish());
  }

  messages(field: number, messages: readonly ProtoWriter[]): this {
    for (const message of messages) this.message(field, message);
    return this;
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts, this.#length);
  }

  #bytes(field: number, bytes: Uint8Array): this {
    return this.#add(varint(field * 8 + 2))
      .#add(varint(bytes.length))
      .#add(bytes);
  }

  #add(bytes: Uint8Array): this {
    this.#parts.push(bytes);
    this.#length += bytes.length;
    return this;
  }
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Uint8Array.from([...bytes, rest]);
}
