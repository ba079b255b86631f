import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { readFile } from "node:fs/promises";
import { type Answer, decode, encode, type Packet, type Question } from "dns-packet";

const upstreamMs = 3000;
/** The flags of a query that are forwarded: recursion desired, authenticated data, checking disabled. */
const passedFlags = 0x0100 | 0x0020 | 0x0010;
const largestAnswer = 4096;

/**
 * Sends a query to another DNS server over UDP. The message is built from the question, so nothing else that a Pod sent leaves
 * the machine. The socket is connected, so the kernel accepts only packets from that server, and the response must have the ID
 * and the question of the query. A truncated response is returned as it is.
 */
export function askUpstream(server: string, query: Packet, question: Question): Promise<Buffer> {
  const id = randomInt(65_536);
  const message = encode({
    type: "query",
    id,
    flags: (query.flags ?? 0) & passedFlags,
    questions: [question],
    additionals: optionsOf(query),
  });
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
    const [host = "", port = "53"] = server.split(":");
    socket.connect(Number(port), host, () => socket.send(message));
    socket.on("message", (answer) => {
      if (!isAnswer(answer, id, question)) return;
      answer.writeUInt16BE(query.id ?? 0, 0);
      end(answer);
    });
  });
}

/** The EDNS options that are forwarded: the response size that the Pod accepts, and whether it wants DNSSEC records. */
function optionsOf({ additionals = [] }: Packet): Answer[] {
  const options = additionals.find((each) => each.type === "OPT");
  if (options?.type !== "OPT") return [];
  const udpPayloadSize = Math.min(largestAnswer, Math.max(512, options.udpPayloadSize));
  const { flags } = options;
  return [
    {
      type: "OPT",
      name: ".",
      udpPayloadSize,
      extendedRcode: 0,
      ednsVersion: 0,
      flags: flags & 0x8000,
      flag_do: (flags & 0x8000) !== 0,
      options: [],
    },
  ];
}

function isAnswer(message: Buffer, id: number, { name, type }: Question): boolean {
  if (message.length > largestAnswer || message.length < 12 || message.readUInt16BE(0) !== id) return false;
  try {
    const { type: kind, questions: [first] = [] } = decode(message);
    return kind === "response" && first?.type === type && first.name.toLowerCase() === name.toLowerCase();
  } catch {
    return false;
  }
}

/** The DNS servers in the machine's resolv.conf. */
export async function machineServers(): Promise<string[]> {
  const text = await readFile("/etc/resolv.conf", "utf8").catch(() => "");
  return [...text.matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)/gm)].map(([, server]) => server as string);
}
