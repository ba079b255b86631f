/** Opens a port of the sandbox in a new tab, through a login link that works once. */
import { useCallback, useState } from "react";
import { useToast } from "../../components/toast.tsx";
import { useRuntime } from "../runtime/use-runtime.ts";
import { useSandbox } from "../sandbox-context.tsx";
import { checkLink } from "./check-link.ts";

export interface PortLink {
  readonly port: number;
  readonly href: string;
}

export interface OpenPort {
  /** The port whose link is being created. */
  readonly opening: number | undefined;
  /** A link that came too late: browsers open a tab only shortly after a click. */
  readonly late: PortLink | undefined;
  readonly open: (port: number) => Promise<void>;
  readonly openLate: () => void;
}

export function useOpenPort(): OpenPort {
  const connect = useRuntime();
  const toast = useToast();
  const { name = "", namespace = "" } = useSandbox().sandbox.metadata;
  const [opening, setOpening] = useState<number>();
  const [late, setLate] = useState<PortLink>();
  const open = useCallback(
    async (port: number): Promise<void> => {
      setOpening(port);
      setLate(undefined);
      try {
        const link = await (await connect()).ports.loginUrl(port);
        const href = checkLink(link, { namespace, name, port }, location.hostname);
        if (mayOpenTab()) openTab(href);
        else setLate({ port, href });
      } catch (error) {
        toast.failed(`Cannot open port ${port}`, error);
      } finally {
        setOpening(undefined);
      }
    },
    [connect, toast, name, namespace],
  );
  const openLate = (): void => {
    if (late !== undefined) openTab(late.href);
    setLate(undefined);
  };
  return { opening, late, open, openLate };
}

function mayOpenTab(): boolean {
  return navigator.userActivation.isActive;
}

/** The page in the tab learns nothing about this one. */
function openTab(href: string): void {
  window.open(href, "_blank", "noopener,noreferrer");
}
