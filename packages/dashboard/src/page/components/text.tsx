/** Shows text that somebody else wrote. Always use it for names, messages, labels and everything else that comes from objects. */
import { cleanText } from "./clean-text.ts";

export function Text({ of, className }: { readonly of: string | number | undefined; readonly className?: string }) {
  const text = of === undefined ? "" : cleanText(String(of));
  return className === undefined ? text : <span className={className}>{text}</span>;
}
