import type { StreamResponse, Transport, TransportRequest, WatchEvent } from "@agent-sandbox/kube/requests";
import { expect, test } from "vitest";
import { followTable } from "./follow-table.ts";

const columnDefinitions = [{ name: "Name" }];
const row = (name: string, version: string): object => ({
  cells: [`${name}@${version}`],
  object: { metadata: { namespace: "default", name, resourceVersion: version } },
});
const list = (version: string, ...rows: object[]): object => ({
  columnDefinitions,
  metadata: { resourceVersion: version },
  rows,
});
const event = (type: string, ...rows: object[]): WatchEvent => ({ type, object: { rows } }) as unknown as WatchEvent;
const gone = { type: "ERROR", object: { kind: "Status", code: 410, message: "too old" } } as unknown as WatchEvent;

/** A server with these answers, in order. A list is an object, and a watch is its events or a status. */
class ScriptedServer {
  readonly requests: string[] = [];
  readonly #answers: (object | readonly WatchEvent[] | number)[];

  constructor(...answers: (object | readonly WatchEvent[] | number)[]) {
    this.#answers = answers;
  }

  get transport(): Transport {
    return {
      send: async (request) => ({ status: 200, headers: {}, body: this.#next(request) }),
      stream: async (request): Promise<StreamResponse> => {
        const answer = this.#next(request);
        if (typeof answer === "number") return { status: answer, headers: {}, body: { message: `status ${answer}` } };
        return { status: 200, headers: {}, events: batches(answer as readonly WatchEvent[]) };
      },
      close: async () => undefined,
    };
  }

  #next({ path }: TransportRequest): object | number {
    this.requests.push(path.replace("/pods?", ""));
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error("the script has ended");
    return answer;
  }
}

async function* batches(events: readonly WatchEvent[]): AsyncGenerator<readonly WatchEvent[]> {
  yield [];
  yield events;
}

interface Seen {
  readonly cells: readonly unknown[];
  readonly requests: readonly string[];
  readonly pauses: readonly number[];
  readonly error: string;
}

/** Follows until the script has ended. Each watch lasts this long. */
async function follow(server: ScriptedServer, watchMs = 0): Promise<Seen> {
  const cells: unknown[] = [];
  const pauses: number[] = [];
  let now = 0;
  const options = {
    now: () => (now += watchMs),
    sleep: async (ms: number) => pauses.push(ms),
  };
  try {
    for await (const { rows } of followTable(server.transport, "/pods?", options)) {
      cells.push(...rows.flatMap((one) => one.cells));
    }
  } catch (error) {
    return { cells, pauses, requests: server.requests, error: (error as Error).message };
  }
  throw new Error("it has no end");
}

test("a watch that the server ends continues after the last change, and no row is repeated", async () => {
  const server = new ScriptedServer(
    list("5", row("a", "3"), row("b", "5")),
    [event("MODIFIED", row("a", "6")), event("DELETED", row("b", "7"))],
    [],
    [event("ADDED", row("c", "9"))],
  );
  const { cells, requests } = await follow(server);
  expect(cells).toEqual(["a@3", "b@5", "a@6", "b@7", "c@9"]);
  expect(requests).toEqual([
    "",
    "&watch=true&resourceVersion=5",
    "&watch=true&resourceVersion=7",
    "&watch=true&resourceVersion=7",
    "&watch=true&resourceVersion=9",
  ]);
});

test.for([
  ["an event", [event("MODIFIED", row("a", "6")), gone]],
  ["the status", 410],
] as const)(
  "a version that the server has forgotten, as %s says, is replaced by a list of which only changes are returned",
  async ([, answer]) => {
    const server = new ScriptedServer(
      list("5", row("a", "3"), row("b", "5")),
      answer,
      list("20", row("a", "6"), row("b", "5"), row("c", "18")),
      [],
    );
    const { cells, requests } = await follow(server);
    expect(cells).toEqual(["a@3", "b@5", "a@6", "c@18"]);
    expect(requests).toEqual([
      "",
      "&watch=true&resourceVersion=5",
      "",
      "&watch=true&resourceVersion=20",
      "&watch=true&resourceVersion=20",
    ]);
  },
);

test("a server that ends each watch at once is asked less and less often", async () => {
  const endings = Array.from({ length: 8 }, () => []);
  const { pauses } = await follow(new ScriptedServer(list("5"), ...endings));
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test("a server that has forgotten each version is asked less and less often too", async () => {
  const { pauses } = await follow(new ScriptedServer(list("5"), 410, list("6"), [gone], list("7"), 410, list("8")));
  expect(pauses).toEqual([1000, 2000, 4000]);
});

test("after a watch that lasted long the pause is short", async () => {
  const { pauses } = await follow(new ScriptedServer(list("5"), [], [], []), 60_000);
  expect(pauses).toEqual([500, 500, 500]);
});

test("bookmarks move the version and are no rows", async () => {
  const server = new ScriptedServer(list("5", row("a", "3")), [event("BOOKMARK", row("", "12"))], []);
  const { cells, requests } = await follow(server);
  expect(cells).toEqual(["a@3"]);
  expect(requests.at(-1)).toBe("&watch=true&resourceVersion=12");
});

test.for([
  ["a refusal", 403, "status 403"],
  ["an error in the watch", [{ type: "ERROR", object: { code: 500, message: "no store" } }], "no store"],
  ["an error without a message", [{ type: "ERROR", object: {} }], "the server ended the watch"],
] as const)("%s ends the command", async ([, answer, message]) => {
  const { error } = await follow(new ScriptedServer(list("5"), answer, []));
  expect(error).toBe(message);
});

test("rows without versions are printed, and the watch continues from the list", async () => {
  const plain = { cells: ["x"] };
  const server = new ScriptedServer({ columnDefinitions, metadata: { resourceVersion: "5" }, rows: [plain] }, [
    event("ADDED", plain),
  ]);
  const { cells, requests } = await follow(server);
  expect(cells).toEqual(["x", "x"]);
  expect(requests.at(-1)).toBe("&watch=true&resourceVersion=5");
});
