import { Writable } from "node:stream";

/**
 * Takes the standard output for the protocol. From then on everything else that the process prints goes to the standard error,
 * because one line that is not a message ends the connection with most hosts.
 */
export function takeStandardOutput(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  stdout.end = (last?: unknown) => {
    if (typeof last === "string" || last instanceof Uint8Array) stderr.write(last);
    return stdout;
  };
  return new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, _encoding, done) => void write(chunk, done),
  });
}
