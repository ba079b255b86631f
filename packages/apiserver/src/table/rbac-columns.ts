import { type ApiObject, objectsAt, stringAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageColumn, text } from "./column.ts";

export const bindingColumns: readonly Column[] = [
  text(
    "Role",
    (binding) => `${stringAt(binding, "roleRef", "kind") ?? ""}/${stringAt(binding, "roleRef", "name") ?? ""}`,
  ),
  ageColumn,
  text("Users", (binding) => subjects(binding, "User"), 1),
  text("Groups", (binding) => subjects(binding, "Group"), 1),
  text("ServiceAccounts", (binding) => subjects(binding, "ServiceAccount"), 1),
];

function subjects(binding: ApiObject, wanted: string): string {
  const found = objectsAt(binding, "subjects").filter(({ kind }) => kind === wanted);
  return found
    .map(({ name, namespace }) => (wanted === "ServiceAccount" ? `${String(namespace)}/${String(name)}` : String(name)))
    .join(", ");
}
