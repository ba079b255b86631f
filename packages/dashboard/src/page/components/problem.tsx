import { CircleAlert } from "lucide-react";
import { Text } from "./text.tsx";

/** Why the server refused. */
export function Problem({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  return (
    <p className="form-problem" role="alert">
      <CircleAlert size={16} aria-hidden />
      <Text of={error instanceof Error ? error.message : "the request failed"} />
    </p>
  );
}
