/** What the buttons and dialogs of the actions start, and where the page goes afterwards. */
import type { Sandbox, SandboxClaim } from "@agent-sandbox/api";
import { useLocation } from "wouter";
import { hrefIn } from "../../model/links.ts";
import { extend, fork, remove, restart, resume, type SnapshotChoices, suspend, takeSnapshot } from "./perform.ts";
import type { Tasks } from "./use-task.ts";

export interface Submit {
  readonly resume: () => unknown;
  readonly suspend: () => unknown;
  readonly snapshot: (choices: SnapshotChoices) => unknown;
  readonly fork: (name: string) => unknown;
  readonly restart: () => unknown;
  readonly extend: (time: string | undefined) => unknown;
  readonly delete: () => unknown;
}

export function useSubmit({ run }: Tasks, { metadata }: Sandbox, claim: SandboxClaim | undefined): Submit {
  const [, navigate] = useLocation();
  const { name = "", namespace = "" } = metadata;
  const own = hrefIn("sandboxes", { namespace, name });
  /** Navigates only if the user is still on this page. */
  const leaveFor = (next: string): void => {
    if (location.pathname === own) navigate(next);
  };
  return {
    resume: () => run({ title: "Resuming", done: `"${name}" resumed`, failed: "Cannot resume", work: resume }),
    suspend: () => run({ title: "Suspending", done: `"${name}" suspended`, failed: "Cannot suspend", work: suspend }),
    restart: () => run({ title: "Restarting", done: `"${name}" restarted`, failed: "Cannot restart", work: restart }),
    snapshot: (choices) =>
      run({
        title: "Taking a snapshot",
        done: `Snapshot "${choices.name}" taken`,
        failed: "Cannot take a snapshot",
        work: async (task) => void (await takeSnapshot(task, choices)),
      }),
    extend: (time) =>
      run({
        title: "Changing the lifetime",
        done: time === undefined ? `"${name}" has no end` : `"${name}" has a new end`,
        failed: "Cannot change the lifetime",
        work: (task) => extend(task, time, claim),
      }),
    fork: async (fresh) => {
      const work = (task: Parameters<typeof fork>[0]) => fork(task, fresh);
      const isDone = await run({ title: "Forking", done: `Fork "${fresh}" runs`, failed: "Cannot fork", work });
      if (isDone) leaveFor(hrefIn("sandboxes", { namespace, name: fresh }));
    },
    delete: async () => {
      const wanted = { title: "Deleting", done: `"${name}" deleted`, failed: "Cannot delete", work: remove };
      if (await run(wanted)) leaveFor("/sandboxes");
    },
  };
}
