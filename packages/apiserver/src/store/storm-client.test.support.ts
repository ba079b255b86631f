import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type Agent, request } from "node:https";
import { text } from "node:stream/consumers";

export interface ServerAddress {
  readonly port: number;
  readonly authority: string;
  readonly token: string;
}

/** The state of one object as the client knows it; absent if the object does not exist. */
export interface Known {
  readonly value: string;
  readonly resourceVersion: number;
}

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export const configMaps = "/api/v1/namespaces/default/configmaps";

export async function send(
  { port, authority, token }: ServerAddress,
  agent: Agent,
  { method, path, body, type = "application/json" }: { method: string; path: string; body?: object; type?: string },
): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, "content-type": type };
  const sent = request({ host: "127.0.0.1", port, ca: authority, agent, method, path, headers });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) };
}

/** The value twice, with filler in between, so that a torn object has two different values. */
const dataOf = (value: string): object => ({
  first: value,
  middle: "x".repeat((value.length * 997) % 6000),
  last: value,
});

const names = 4;

/**
 * A client whose objects nobody else writes, so that it knows their state: for each name the last acknowledged write, and for
 * at most one of them a write without an answer.
 */
export class StormClient {
  readonly acknowledged: Map<string, Known | undefined> = new Map();
  asked: { readonly name: string; readonly value: string | undefined } | undefined;
  readonly #id: number;
  #at = 0;

  constructor(id: number) {
    this.#id = id;
    for (let at = 0; at < names; at += 1) this.acknowledged.set(`c${id}-${at}`, undefined);
  }

  /** Writes until the server is killed. Calls `onAcknowledged` for each acknowledged write. */
  async write(server: ServerAddress, agent: Agent, onAcknowledged: (resourceVersion: number) => void): Promise<void> {
    for (;;) {
      this.#at += 1;
      const name = `c${this.#id}-${this.#at % names}`;
      const known = this.acknowledged.get(name);
      const value = known !== undefined && this.#at % 7 === 0 ? undefined : `${this.#id}.${this.#at}`;
      this.asked = { name, value };
      const answer = await send(server, agent, requestFor(name, known, value)).catch(() => undefined);
      if (answer === undefined) return;
      if (answer.status >= 300) throw new Error(`${name}: ${JSON.stringify(answer.body)}`);
      const resourceVersion = Number(answer.body.metadata.resourceVersion ?? 0);
      this.acknowledged.set(name, value === undefined ? undefined : { value, resourceVersion });
      this.asked = undefined;
      onAcknowledged(resourceVersion);
    }
  }

  /** Adopts the state of a restarted server. Returns what contradicts the acknowledged writes. */
  settle(found: ReadonlyMap<string, Known>): string[] {
    const problems: string[] = [];
    for (const [name, known] of this.acknowledged) {
      const present = found.get(name);
      const isAsFinished = present?.value === known?.value && present?.resourceVersion === known?.resourceVersion;
      const isAsAsked = this.asked?.name === name && present?.value === this.asked.value;
      if (!isAsFinished && !isAsAsked) {
        problems.push(`${name}: ${JSON.stringify({ known, asked: this.asked, present })}`);
      }
      this.acknowledged.set(name, present);
    }
    this.asked = undefined;
    return problems;
  }
}

function requestFor(
  name: string,
  known: Known | undefined,
  value: string | undefined,
): { method: string; path: string; body?: object; type?: string } {
  if (value === undefined) return { method: "DELETE", path: `${configMaps}/${name}` };
  const data = dataOf(value);
  if (known === undefined) return { method: "POST", path: configMaps, body: { metadata: { name }, data } };
  return { method: "PATCH", path: `${configMaps}/${name}`, body: { data }, type: "application/merge-patch+json" };
}

/** The clients' objects on a server. Throws if one is torn. */
export function foundIn(
  items: readonly { metadata: { name: string; resourceVersion: string }; data: unknown }[],
): Map<string, Known> {
  return new Map(
    items.map(({ metadata, data }) => {
      const { first, middle, last } = data as Record<string, string>;
      if (first === undefined || JSON.stringify(data) !== JSON.stringify(dataOf(first))) {
        throw new Error(`${metadata.name} is torn: ${first} ${middle?.length} ${last}`);
      }
      return [metadata.name, { value: first, resourceVersion: Number(metadata.resourceVersion) }];
    }),
  );
}
