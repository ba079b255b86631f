/** One snapshot: what it holds, its sandbox, and what can be done with it. */
import type { Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { Camera, GitFork, RotateCcw } from "lucide-react";
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { Conditions } from "../components/conditions.tsx";
import { DeleteButton } from "../components/delete-button.tsx";
import { Facts } from "../components/facts.tsx";
import { formatBytes, formatDuration } from "../components/format.ts";
import { ObjectLink } from "../components/object-link.tsx";
import { ObjectPage } from "../components/object-page.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Text } from "../components/text.tsx";
import { Time } from "../components/time.tsx";
import { YamlPreview } from "../create/yaml-preview.tsx";
import { sandboxes, sandboxSnapshots } from "../data/resources.ts";
import { useCan, useList, useObject } from "../data/use-data.ts";
import { ObjectEvents } from "../events/object-events.tsx";
import { snapshotState, sourceOf } from "../model/snapshot-state.ts";
import { ForkDialog } from "./fork-dialog.tsx";
import { RestoreDialog } from "./restore-dialog.tsx";
import { containsTitle, SnapshotBadge } from "./snapshots-page.tsx";

interface PageProps {
  readonly namespace: string;
  readonly name: string;
}

export default function SnapshotPage({ namespace, name }: PageProps) {
  const found = useObject(sandboxSnapshots, { namespace, name });
  const { items } = useList(sandboxes, namespace);
  const sourceFor = (snapshot: SandboxSnapshot): Sandbox | undefined =>
    items.find(({ metadata }) => metadata.name === sourceOf(snapshot));
  return (
    <ObjectPage
      noun="snapshot"
      icon={Camera}
      list={{ href: "/snapshots", title: "Snapshots" }}
      namespace={namespace}
      name={name}
      found={found}
      badge={(snapshot) => <SnapshotBadge snapshot={snapshot} />}
      actions={(snapshot) => <Actions snapshot={snapshot} source={sourceFor(snapshot)} />}
    >
      {(snapshot) => <Content snapshot={snapshot} source={sourceFor(snapshot)} />}
    </ObjectPage>
  );
}

interface PartProps {
  readonly snapshot: SandboxSnapshot;
  /** Undefined: it does not exist any more. */
  readonly source: Sandbox | undefined;
}

function Actions({ snapshot, source }: PartProps) {
  const { namespace } = snapshot.metadata;
  const [open, setOpen] = useState<"restore" | "fork">();
  const close = (): void => setOpen(undefined);
  const isReady = snapshotState(snapshot).title === "Ready";
  const canRestore = useCan("patch", sandboxes, { namespace }) && isReady && source !== undefined;
  const canFork = useCan("create", sandboxes, { namespace }) && isReady && source !== undefined;
  return (
    <>
      <DeleteButton resource={sandboxSnapshots} object={snapshot} noun="snapshot" next="/snapshots">
        Its files are deleted. Sandboxes that were restored from it keep what they have.
      </DeleteButton>
      {canRestore && (
        <Button icon={RotateCcw} onClick={() => setOpen("restore")}>
          Restore
        </Button>
      )}
      {canFork && (
        <Button variant="primary" icon={GitFork} onClick={() => setOpen("fork")}>
          Fork
        </Button>
      )}
      {open === "restore" && source !== undefined && (
        <RestoreDialog snapshot={snapshot} source={source} onClose={close} />
      )}
      {open === "fork" && source !== undefined && <ForkDialog snapshot={snapshot} source={source} onClose={close} />}
    </>
  );
}

function Content({ snapshot, source }: PartProps) {
  const { metadata, spec, status } = snapshot;
  const { title, why } = snapshotState(snapshot);
  const pause = status?.pauseMilliseconds;
  return (
    <>
      <section className="card" aria-label="Summary">
        <Facts
          facts={[
            {
              title: "Sandbox",
              value: (
                <span className="inline">
                  {source === undefined ? (
                    <>
                      <Text of={sourceOf(snapshot)} /> <span className="faint">no longer exists</span>
                    </>
                  ) : (
                    <>
                      <ObjectLink folder="sandboxes" namespace={metadata.namespace} name={source.metadata.name} />
                      <StateBadge sandbox={source} />
                    </>
                  )}
                </span>
              ),
            },
            { title: "Contains", value: containsTitle(snapshot) },
            { title: "Size", value: status?.sizeBytes === undefined ? undefined : formatBytes(status.sizeBytes) },
            { title: "Taken", value: status?.createdAt && <Time at={status.createdAt} /> },
            {
              title: "The sandbox stood still for",
              value: pause === undefined ? undefined : formatDuration(pause),
            },
            {
              title: "Runtime",
              value: status?.runtime && <Text of={`${status.runtime.name} ${status.runtime.version}`} />,
            },
            { title: "Volumes", value: spec.volumes === "Exclude" ? "left out" : "included" },
            {
              title: "Deleted after",
              value:
                spec.ttlSecondsAfterCreation === undefined
                  ? "never"
                  : formatDuration(spec.ttlSecondsAfterCreation * 1000),
            },
            {
              title: "When its sandbox is deleted",
              value: spec.deletionPolicy === "Retain" ? "it is kept" : "it is deleted",
            },
            { title: title === "Ready" ? "" : "Why", value: why && <Text of={why} /> },
          ]}
        />
      </section>
      <Conditions conditions={status?.conditions} />
      <ObjectEvents object={snapshot} />
      <YamlPreview objects={[snapshot]} />
    </>
  );
}
