/** One message of the Connect protocol, as a frame. */
export function frameOf(message: object): Buffer {
  const data = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

/** The messages of an answer, as they arrive. The last one is that of the end. */
export async function* messagesOf(answer: Response): AsyncGenerator<Readonly<Record<string, unknown>>> {
  let rest = Buffer.alloc(0);
  for await (const chunk of answer.body ?? []) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      yield JSON.parse(rest.subarray(5, end).toString()) as Readonly<Record<string, unknown>>;
      rest = rest.subarray(end);
    }
  }
}
