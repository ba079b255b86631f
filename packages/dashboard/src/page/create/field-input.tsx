/** One field of a form, with its label and hint. Proposals come from the server, if the user may read them. */
import { useId } from "react";
import { cleanText } from "../components/clean-text.ts";
import { type KubeObject, nodes, sandboxes, sandboxTemplates, sandboxWarmPools } from "../data/resources.ts";
import { useCan, useList } from "../data/use-data.ts";
import { imageNames } from "../model/images.ts";
import { isShadow } from "../model/pool-state.ts";
import type { Field } from "./forms.ts";

interface FieldInputProps {
  readonly field: Field;
  readonly namespace: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function FieldInput({ field, namespace, value, onChange }: FieldInputProps) {
  const { label, hint, kind = "text", isRequired = false, options, propose, least } = field;
  const id = useId();
  const proposals = useProposals(propose, namespace);
  const shared = { id, value, required: isRequired, "aria-describedby": hint && `${id}-hint` };
  return (
    <div className={kind === "lines" ? "field field-wide" : "field"}>
      <label htmlFor={id}>{label}</label>
      {kind === "select" ? (
        <select className="input" {...shared} onChange={(event) => onChange(event.target.value)}>
          {(options ?? []).map((option) => {
            const [key, title] = typeof option === "string" ? [option, option] : option;
            return (
              <option key={key} value={key}>
                {title}
              </option>
            );
          })}
        </select>
      ) : kind === "lines" ? (
        <textarea
          className="input mono"
          rows={3}
          spellCheck={false}
          {...shared}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <input
          className="input"
          type={kind}
          autoComplete="off"
          spellCheck={false}
          {...(least !== undefined && { min: least })}
          {...(proposals.length > 0 && { list: `${id}-list` })}
          {...shared}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {proposals.length > 0 && (
        <datalist id={`${id}-list`}>
          {proposals.map((name) => (
            <option key={name} value={name}>
              {cleanText(name)}
            </option>
          ))}
        </datalist>
      )}
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

const namesOf = (items: readonly KubeObject[]): string[] =>
  items.map(({ metadata }) => metadata?.name ?? "").toSorted();

function useProposals(propose: Field["propose"], namespace: string): readonly string[] {
  const canNodes = useCan("list", nodes);
  const machine = useList(propose === "images" && canNodes ? nodes : undefined);
  const templates = useList(propose === "templates" ? sandboxTemplates : undefined, namespace);
  const boxes = useList(propose === "sandboxes" ? sandboxes : undefined, namespace);
  const pools = useList(propose === "pools" ? sandboxWarmPools : undefined, namespace);
  if (propose === "pools") return namesOf(pools.items.filter((pool) => !isShadow(pool)));
  if (propose === "images") return ["host", ...machine.items.flatMap(imageNames)];
  return propose === "templates" ? namesOf(templates.items) : propose === "sandboxes" ? namesOf(boxes.items) : [];
}
