/** Keeps a journal for a store in another thread, which goes on meanwhile: a commit waits for the disk. */
import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";
import { type JournalReply, type NumberedCall, rowCount, unpackRows } from "./journal-call.ts";
import { SqliteJournal } from "./sqlite-journal.ts";

/** Rows of one transaction: bounds how long the first of them waits for the last. */
const maxRows = 1000;

const port = parentPort as MessagePort;
const calls: NumberedCall[] = [];
let journal: SqliteJournal | undefined;
let whyNotOpen: unknown = new Error("the journal is not open");
/** Rows are saved while what they were decided on was: a failure ends the run, and the store begins another. */
let currentRun = 0;

const reply = (ids: readonly number[], failure?: { readonly error: unknown }): void => {
  port.postMessage({ ids, run: currentRun, overdue: journal?.overdue ?? false, ...failure } satisfies JournalReply);
};

port.on("message", (call: NumberedCall) => {
  calls.push(call);
  takeWaiting();
  for (let next = calls.shift(); next !== undefined; next = calls.shift()) {
    perform(next);
    takeWaiting();
  }
});

// The first word says that the thread is there.
reply([]);

function takeWaiting(): void {
  for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
    calls.push(more.message as NumberedCall);
  }
}

function perform(call: NumberedCall): void {
  if (call.do === "append") return append(call);
  if (call.do === "backUp") return void backUp(call);
  try {
    if (call.do === "open") open(call.path);
    else if (call.do === "compact") opened().compact(call);
    else if (call.do === "tidy") opened().tidy();
    else journal?.close();
    reply([call.id]);
  } catch (error) {
    reply([call.id], { error });
  }
  if (call.do === "close") port.close();
}

type Append = NumberedCall & { readonly do: "append" };

/** What came together goes into one transaction. */
function append(first: Append): void {
  const ids = [first.id];
  const rows = [...unpackRows(first.rows)];
  for (let next = calls[0]; next?.do === "append" && next.run === first.run; next = calls[0]) {
    if (rows.length + rowCount(next.rows) > maxRows) break;
    calls.shift();
    ids.push(next.id);
    for (const row of unpackRows(next.rows)) rows.push(row);
  }
  try {
    if (first.run !== currentRun) throw new Error("a write before it could not be saved");
    // Without rows it asks only whether those before it are saved.
    if (rows.length > 0) opened().append(rows);
    reply(ids);
  } catch (error) {
    currentRun = Math.max(currentRun, first.run + 1);
    reply(ids, { error });
  }
}

async function backUp({ folder, path, id }: NumberedCall & { readonly do: "backUp" }): Promise<void> {
  try {
    await opened().backUp(folder, path);
    reply([id]);
  } catch (error) {
    reply([id], { error });
  }
}

function open(path: string): void {
  try {
    journal = new SqliteJournal(path);
  } catch (error) {
    whyNotOpen = error;
    throw error;
  }
}

function opened(): SqliteJournal {
  if (journal === undefined) throw whyNotOpen;
  return journal;
}
