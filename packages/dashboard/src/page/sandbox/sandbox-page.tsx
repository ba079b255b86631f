/**
 * One sandbox. Loaded when it is opened. The view is in the address (`?view=logs`). A view ends when it is left, so that it does not keep a
 * sandbox awake.
 */
import type { Pod, Sandbox } from "@agent-sandbox/api";
import { Boxes, Lock } from "lucide-react";
import { lazy, type ReactNode, Suspense, useRef } from "react";
import { Link, useSearchParams } from "wouter";
import { EmptyState } from "../components/empty-state.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Text } from "../components/text.tsx";
import { sandboxes } from "../data/resources.ts";
import { tryAgain } from "../data/try-again.ts";
import { useObject } from "../data/use-data.ts";
import { ErrorBoundary } from "../shell/error-boundary.tsx";
import { SandboxHeader } from "./header/sandbox-header.tsx";
import { OverviewView } from "./overview/overview-view.tsx";
import { SandboxProvider } from "./sandbox-context.tsx";
import { usePod } from "./use-pod.ts";
import { isView, type View, ViewTabs } from "./view-tabs.tsx";

const LogsView = lazy(() => tryAgain(() => import("./logs/logs-view.tsx")));
const TerminalView = lazy(() => tryAgain(() => import("./terminal/terminal-view.tsx")));
const FilesView = lazy(() => tryAgain(() => import("./files/files-view.tsx")));
const ProcessesView = lazy(() => tryAgain(() => import("./processes/processes-view.tsx")));
const PortsView = lazy(() => tryAgain(() => import("./ports/ports-view.tsx")));
const MetricsView = lazy(() => tryAgain(() => import("./metrics/metrics-view.tsx")));
const YamlView = lazy(() => tryAgain(() => import("./yaml/yaml-view.tsx")));

export default function SandboxPage({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { object, state, error } = useObject(sandboxes, { namespace, name });
  const wasShown = useRef(false);
  wasShown.current ||= object !== undefined;
  if (object !== undefined) return <Loaded sandbox={object} />;
  return (
    <>
      <PageHeader title={name} subtitle={namespace} />
      <div className="card">
        {state === "loading" && <Waiting />}
        {state === "refused" && (
          <EmptyState icon={Lock} title="You may not look at this sandbox">
            <Text of={error?.message} />
          </EmptyState>
        )}
        {state !== "loading" && state !== "refused" && (
          <EmptyState
            icon={Boxes}
            title={wasShown.current ? "This sandbox was deleted" : "This sandbox does not exist"}
          >
            {!wasShown.current && "It may have been deleted. "}
            Its events are kept for an hour. <Link href="/sandboxes">Show all sandboxes</Link>
          </EmptyState>
        )}
      </div>
    </>
  );
}

function Loaded({ sandbox }: { readonly sandbox: Sandbox }) {
  const pod = usePod(sandbox);
  const [params, setParams] = useSearchParams();
  const named = params.get("view") ?? "";
  const view: View = isView(named) ? named : "overview";
  const open = (next: View): void => setParams(next === "overview" ? {} : { view: next }, { replace: true });
  return (
    <SandboxProvider value={{ sandbox, pod, open }}>
      <SandboxHeader />
      <ViewTabs view={view} onChange={open} />
      <div role="tabpanel" id="view" aria-labelledby={`tab-${view}`} className="view">
        <ErrorBoundary key={view}>
          <Suspense fallback={<Waiting />}>{viewOf(view, sandbox, pod)}</Suspense>
        </ErrorBoundary>
      </div>
    </SandboxProvider>
  );
}

function viewOf(view: View, sandbox: Sandbox, pod: Pod | undefined): ReactNode {
  // A replaced Pod has other logs.
  const key = `${sandbox.metadata.uid} ${pod?.metadata?.uid ?? ""}`;
  switch (view) {
    case "overview":
      return <OverviewView />;
    case "logs":
      return <LogsView key={key} />;
    case "terminal":
      return <TerminalView key={key} />;
    case "files":
      return <FilesView key={key} />;
    case "processes":
      return <ProcessesView key={key} />;
    case "ports":
      return <PortsView key={key} />;
    case "metrics":
      return <MetricsView key={key} />;
    case "yaml":
      return <YamlView key={sandbox.metadata.uid} />;
    default:
      return null;
  }
}

function Waiting() {
  return (
    <div className="loading" role="status">
      <span className="spinner" aria-hidden />
      <span className="visually-hidden">Loading</span>
    </div>
  );
}
