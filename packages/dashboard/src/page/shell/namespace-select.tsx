/** Chooses the namespace of all lists. Users who may not list namespaces type a name. */

import { cleanText } from "../components/clean-text.ts";
import { namespaces } from "../data/resources.ts";
import { useCan, useList } from "../data/use-data.ts";
import { useScope } from "./scope.tsx";

export function NamespaceSelect() {
  const { namespace, canAll, setNamespace, home } = useScope();
  const canList = useCan("list", namespaces);
  const { items } = useList(canList ? namespaces : undefined);
  if (!canList) {
    return (
      <input
        className="input namespace-select"
        aria-label="Namespace"
        defaultValue={home}
        onBlur={(event) => setNamespace(event.target.value.trim() || home)}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    );
  }
  const names = items.map(({ metadata }) => metadata?.name ?? "").toSorted();
  return (
    <select
      className="input namespace-select"
      aria-label="Namespace"
      value={namespace ?? ""}
      onChange={(event) => setNamespace(event.target.value === "" ? undefined : event.target.value)}
    >
      {canAll && <option value="">All namespaces</option>}
      {(namespace === undefined || names.includes(namespace) ? names : [namespace, ...names]).map((name) => (
        <option key={name} value={name}>
          {cleanText(name)}
        </option>
      ))}
    </select>
  );
}
