import { trackedPodName } from "@agent-sandbox/api";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { type ListedEvent, listEvents } from "../client/events.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { formatAge } from "../client/format-amounts.ts";
import { formatTable } from "../client/table.ts";

/** Prints the events of a sandbox, its Pod and its claim, or all events of the namespace. */
export async function events(sandbox: string | undefined, options: GlobalOptions): Promise<void> {
  await using connection = await connect(options);
  const found = sandbox === undefined ? undefined : await findSandbox(connection, sandbox);
  const names = found && [found.metadata.name ?? "", trackedPodName(found), sandbox ?? ""];
  const listed = await listEvents(connection, names);
  if (listed.length === 0) console.error("No events found");
  else console.log(formatEvents(listed, Date.now()));
}

export function formatEvents(events: readonly ListedEvent[], now: number): string {
  const columnDefinitions = ["Last seen", "Type", "Reason", "Object", "Message"].map((name) => ({ name, priority: 0 }));
  const rows = events.map(({ time, type, reason, object, message, count }) => ({
    cells: [formatAge(now - time), type, reason, object, count > 1 ? `${message} (${count} times)` : message],
  }));
  return formatTable({ columnDefinitions, rows }, { wide: false, namespaces: false });
}
