/** The buttons of the heading: what the sandbox can do next, a menu with the rest, and the progress of what runs. */
import { Camera, Clock, GitFork, type LucideIcon, Pause, Play, RotateCw, Trash2 } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "../../components/button.tsx";
import { Text } from "../../components/text.tsx";
import { useClaim } from "../header/facts.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import { type Action, availableActions } from "./available-actions.ts";
import { Menu } from "./menu.tsx";
import { useRights } from "./use-rights.ts";
import { useSubmit } from "./use-submit.ts";
import { type Running, useTasks } from "./use-task.ts";

const ActionDialog = lazy(() => import("./action-dialog.tsx"));

const looks: Readonly<Record<Action, readonly [title: string, icon: LucideIcon]>> = {
  resume: ["Resume", Play],
  suspend: ["Suspend", Pause],
  snapshot: ["Snapshot", Camera],
  fork: ["Fork", GitFork],
  restart: ["Restart", RotateCw],
  extend: ["Lifetime", Clock],
  delete: ["Delete", Trash2],
};
/** The others are in the menu. */
const withButton: readonly Action[] = ["resume", "suspend", "snapshot", "fork"];

export function SandboxActions() {
  const { sandbox } = useSandbox();
  const available = availableActions(sandbox, useRights(sandbox.metadata.namespace));
  const claim = useClaim(sandbox);
  const tasks = useTasks();
  const submit = useSubmit(tasks, sandbox, claim);
  const [asked, setAsked] = useState<Exclude<Action, "resume" | "suspend">>();
  const isRunning = tasks.running !== undefined;
  const begin = (action: Action): void => {
    if (action === "resume" || action === "suspend") void submit[action]();
    else setAsked(action);
  };
  const entries = available
    .filter((action) => !withButton.includes(action))
    .map((id) => ({ id, title: looks[id][0], icon: looks[id][1], isDanger: id === "delete" }));
  return (
    <>
      {tasks.running !== undefined && <Progress of={tasks.running} />}
      {available
        .filter((action) => withButton.includes(action))
        .map((action) => (
          <Button
            key={action}
            icon={looks[action][1]}
            variant={action === "resume" ? "primary" : "secondary"}
            disabled={isRunning}
            onClick={() => begin(action)}
          >
            {looks[action][0]}
          </Button>
        ))}
      {entries.length > 0 && <Menu label="More actions" entries={entries} isDisabled={isRunning} onChoose={begin} />}
      {asked !== undefined && (
        <Suspense fallback={null}>
          <ActionDialog
            action={asked}
            sandbox={sandbox}
            claim={claim}
            submit={submit}
            onClose={() => setAsked(undefined)}
          />
        </Suspense>
      )}
    </>
  );
}

function Progress({ of: { title, progress } }: { readonly of: Running }) {
  return (
    <span className="task" role="status">
      <span className="spinner" aria-hidden />
      <span className="task-text">
        {title}
        {progress !== "" && <Text of={`: ${progress}`} className="faint" />}
      </span>
    </span>
  );
}
