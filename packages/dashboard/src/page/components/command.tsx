/** A command for a terminal, with a button that copies it. */
import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { IconButton } from "./button.tsx";

const shownMs = 1500;

export function CopyButton({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), shownMs);
  };
  return <IconButton icon={isCopied ? Check : Copy} label={isCopied ? "Copied" : label} onClick={() => void copy()} />;
}

export function Command({ text }: { readonly text: string }) {
  return (
    <div className="command">
      <code>{text}</code>
      <CopyButton text={text} label="Copy command" />
    </div>
  );
}
