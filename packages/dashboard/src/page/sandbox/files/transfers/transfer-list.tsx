/** Uploads and downloads with their progress. */
import { ArrowDown, ArrowUp, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { Button, IconButton } from "../../../components/button.tsx";
import { formatBytes } from "../../../components/format.ts";
import { Text } from "../../../components/text.tsx";
import { shownName } from "../folder/file-path.ts";
import { isUnfinished, type Transfer, type TransferState, type Transfers } from "./transfers.ts";

export function TransferList({ transfers }: { readonly transfers: Transfers }) {
  const all = useSyncExternalStore(transfers.subscribe, transfers.snapshot);
  if (all.length === 0) return null;
  const unfinished = all.filter(isUnfinished).length;
  return (
    <section className="card transfers" aria-label="Transfers">
      <header className="card-head">
        <h2>Transfers</h2>
        <span className="faint small" role="status">
          {unfinished === 0 ? "All have ended" : `${unfinished} to do`}
        </span>
        <span className="space" />
        {unfinished > 1 && (
          <Button isSmall onClick={() => transfers.cancelAll()}>
            Cancel all
          </Button>
        )}
        {unfinished < all.length && (
          <Button isSmall variant="ghost" onClick={() => transfers.removeEnded()}>
            Clear
          </Button>
        )}
      </header>
      <ul className="plain transfer-rows">
        {all.map((transfer) => (
          <Row key={transfer.id} transfer={transfer} transfers={transfers} />
        ))}
      </ul>
    </section>
  );
}

function Row({ transfer, transfers }: { readonly transfer: Transfer; readonly transfers: Transfers }) {
  const { id, job, state, moved } = transfer;
  const Icon = job.kind === "upload" ? ArrowUp : ArrowDown;
  const name = shownName(job.name);
  const total = state === "done" ? moved : job.size;
  return (
    <li className={`transfer transfer-${state}`}>
      <Icon size={15} aria-label={job.kind === "upload" ? "Upload" : "Download"} />
      <span className="transfer-name" title={name}>
        <Text of={name} />
      </span>
      {state === "active" && (
        <progress
          aria-label={`Progress of ${name}`}
          {...(job.size !== undefined && { value: moved, max: job.size || 1 })}
        />
      )}
      <span className="transfer-state small">
        <Text of={describe(transfer, total)} />
      </span>
      {state === "exists" && (
        <Button isSmall aria-label={`Replace ${name}`} onClick={() => transfers.retry(id, true)}>
          Replace
        </Button>
      )}
      {(state === "failed" || state === "cancelled") && (
        <Button isSmall aria-label={`Try again: ${name}`} onClick={() => transfers.retry(id, false)}>
          Try again
        </Button>
      )}
      <IconButton
        icon={X}
        label={isUnfinished(transfer) ? `Cancel ${name}` : `Forget ${name}`}
        onClick={() => (isUnfinished(transfer) ? transfers.cancel(id) : transfers.remove(id))}
      />
    </li>
  );
}

function describe({ state, moved, error }: Transfer, total: number | undefined): string {
  if (state === "active")
    return total === undefined ? formatBytes(moved) : `${formatBytes(moved)} of ${formatBytes(total)}`;
  if (state === "failed") return error instanceof Error ? error.message : "It failed";
  return titles[state];
}

const titles: Readonly<Record<Exclude<TransferState, "active" | "failed">, string>> = {
  waiting: "Waits",
  done: "Done",
  exists: "There is a file with this name",
  cancelled: "Cancelled",
};
