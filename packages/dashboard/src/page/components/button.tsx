/** Buttons. `Button` has a text, and may have an icon before it; `IconButton` has an icon and a label for screen readers. */
import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode } from "react";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly variant?: "primary" | "secondary" | "ghost" | "danger";
  readonly icon?: LucideIcon;
  readonly isSmall?: boolean;
  /** Shows that the action runs, and refuses further clicks. */
  readonly isBusy?: boolean;
  readonly children: ReactNode;
}

export function Button({ variant = "secondary", icon: Icon, isSmall, isBusy, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={`button button-${variant}${isSmall === true ? " button-small" : ""}`}
      aria-busy={isBusy}
      {...rest}
      disabled={rest.disabled === true || isBusy === true}
    >
      {isBusy === true ? (
        <span className="spinner" aria-hidden />
      ) : (
        Icon && <Icon size={isSmall === true ? 13 : 15} aria-hidden />
      )}
      {children}
    </button>
  );
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly icon: LucideIcon;
  readonly label: string;
}

export function IconButton({ icon: Icon, label, ...rest }: IconButtonProps) {
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} {...rest}>
      <Icon size={16} aria-hidden />
    </button>
  );
}
