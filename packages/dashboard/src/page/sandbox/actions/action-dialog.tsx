/** What an action asks for before it begins: a name, a time, or a confirmation. */
import type { Sandbox, SandboxClaim } from "@agent-sandbox/api";
import { type ReactNode, useId, useState } from "react";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Text } from "../../components/text.tsx";
import { Time } from "../../components/time.tsx";
import { freshName } from "../../create/manifests.ts";
import { ownerClaim } from "../origin.ts";
import type { Action } from "./available-actions.ts";
import { extensions, shutdownTime, timeIn } from "./lifetime.ts";
import type { Submit } from "./use-submit.ts";

interface ActionDialogProps {
  readonly action: Exclude<Action, "resume" | "suspend">;
  readonly sandbox: Sandbox;
  readonly claim: SandboxClaim | undefined;
  readonly submit: Submit;
  readonly onClose: () => void;
}

export default function ActionDialog(props: ActionDialogProps) {
  switch (props.action) {
    case "snapshot":
      return <SnapshotDialog {...props} />;
    case "fork":
      return <ForkDialog {...props} />;
    case "extend":
      return <LifetimeDialog {...props} />;
    case "restart":
      return <RestartDialog {...props} />;
    default:
      return <DeleteDialog {...props} />;
  }
}

interface FormProps {
  readonly title: string;
  readonly action: string;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

function Form({ title, action, isDanger, isDisabled, onSubmit, onClose, children }: FormProps) {
  const id = useId();
  const footer = (
    <>
      <Button variant="ghost" onClick={onClose}>
        Cancel
      </Button>
      <Button variant={isDanger === true ? "danger" : "primary"} type="submit" form={id} disabled={isDisabled === true}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} footer={footer}>
      <form
        id={id}
        className="action-form"
        onSubmit={(event) => {
          event.preventDefault();
          onClose();
          onSubmit();
        }}
      >
        {children}
      </form>
    </Dialog>
  );
}

function NameField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (to: string) => void;
}) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        value={value}
        required
        maxLength={63}
        autoFocus
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function SnapshotDialog({ sandbox, submit, onClose }: ActionDialogProps) {
  const [name, setName] = useState(() => freshName(`${sandbox.metadata.name}`.slice(0, 50)));
  const [depth, setDepth] = useState("");
  const choose = (): unknown => submit.snapshot({ name, ...(depth !== "" && { depth: depth as "Memory" }) });
  return (
    <Form title="Take a snapshot" action="Take snapshot" isDisabled={name === ""} onSubmit={choose} onClose={onClose}>
      <p className="soft">
        The sandbox stands still for a moment, and then goes on. The snapshot can be restored, and forked.
      </p>
      <NameField label="Name of the snapshot" value={name} onChange={setName} />
      <label className="field">
        <span>Keeps</span>
        <select className="input" value={depth} onChange={(event) => setDepth(event.target.value)}>
          <option value="">As much as the runtime can</option>
          <option value="Memory">Memory, processes and files</option>
          <option value="Filesystem">Files</option>
        </select>
      </label>
    </Form>
  );
}

function ForkDialog({ sandbox, submit, onClose }: ActionDialogProps) {
  const [name, setName] = useState(() => freshName(`${sandbox.metadata.name}`.slice(0, 50)));
  return (
    <Form
      title="Fork this sandbox"
      action="Fork"
      isDisabled={name === ""}
      onSubmit={() => submit.fork(name)}
      onClose={onClose}
    >
      <p className="soft">
        A new sandbox continues from the state of this one, with its own copy of the files and, where the runtime can,
        of the memory.
      </p>
      <NameField label="Name of the fork" value={name} onChange={setName} />
    </Form>
  );
}

function LifetimeDialog({ sandbox, claim, submit, onClose }: ActionDialogProps) {
  const present = shutdownTime(sandbox, claim);
  const [choice, setChoice] = useState(String(extensions[1]?.[0]));
  const time = choice === "never" ? undefined : timeIn(Number(choice), Date.now());
  return (
    <Form title="Change the lifetime" action="Change lifetime" onSubmit={() => submit.extend(time)} onClose={onClose}>
      <p className="soft">
        {present === undefined ? (
          "It has no end."
        ) : (
          <>
            It ends at <Time at={present} />.
          </>
        )}
        {ownerClaim(sandbox) !== undefined && " Its claim sets the lifetime."}
      </p>
      <label className="field">
        <span>New end</span>
        <select className="input" value={choice} autoFocus onChange={(event) => setChoice(event.target.value)}>
          {extensions.map(([seconds, title]) => (
            <option key={seconds} value={seconds}>
              In {title}
            </option>
          ))}
          <option value="never">Never</option>
        </select>
      </label>
      {time !== undefined && (
        <p className="faint small">
          It then ends at <Time at={time} />.
        </p>
      )}
    </Form>
  );
}

function RestartDialog({ sandbox, submit, onClose }: ActionDialogProps) {
  return (
    <Form title="Restart this sandbox" action="Restart" onSubmit={submit.restart} onClose={onClose}>
      <p>
        All processes of <Text of={sandbox.metadata.name} className="strong" /> end, and it starts with its present
        spec. Its files, volumes and address stay.
      </p>
    </Form>
  );
}

function DeleteDialog({ sandbox, submit, onClose }: ActionDialogProps) {
  const claim = ownerClaim(sandbox);
  const isKept = sandbox.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === "Retain";
  const [typed, setTyped] = useState("");
  const { name = "" } = sandbox.metadata;
  return (
    <Form
      title="Delete this sandbox"
      action="Delete"
      isDanger
      isDisabled={typed !== name}
      onSubmit={submit.delete}
      onClose={onClose}
    >
      <p>
        Its processes end, and its files are removed{isKept ? "; its volumes are kept" : ""}. This cannot be undone.
        {claim !== undefined && (
          <>
            {" "}
            Its claim <Text of={claim.name} className="strong" /> is deleted with it.
          </>
        )}
      </p>
      <label className="field">
        <span>
          Type <Text of={name} className="mono" /> to confirm
        </span>
        <input
          className="input"
          value={typed}
          autoFocus
          autoComplete="off"
          onChange={(event) => setTyped(event.target.value)}
        />
      </label>
    </Form>
  );
}
