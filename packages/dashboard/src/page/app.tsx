/**
 * The pages by address. Only the overview is part of the first load; other pages are loaded when they are opened. To add a page,
 * add a route here and an entry in `shell/navigation.tsx`.
 */
import { lazy, Suspense, useEffect, useState } from "react";
import { Route, Switch } from "wouter";
import { ToastProvider } from "./components/toast.tsx";
import { Backend, BackendProvider } from "./data/backend.ts";
import { loadSession } from "./data/session.ts";
import { tryAgain } from "./data/try-again.ts";
import { RecorderProvider } from "./data/use-recorder.tsx";
import { EventsPage } from "./events/events-page.tsx";
import { OverviewPage } from "./overview/overview-page.tsx";
import { PaletteHost } from "./palette/palette-host.tsx";
import { SandboxesPage } from "./sandboxes/sandboxes-page.tsx";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import { Layout } from "./shell/layout.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { PreferencesProvider } from "./shell/preferences.tsx";
import { ScopeProvider } from "./shell/scope.tsx";
import { SignedOut } from "./shell/signed-out.tsx";

const SandboxPage = lazy(() => tryAgain(() => import("./sandbox/sandbox-page.tsx")));
const TemplatesPage = lazy(() => tryAgain(() => import("./templates/templates-page.tsx")));
const TemplatePage = lazy(() => tryAgain(() => import("./templates/template-page.tsx")));
const PoolsPage = lazy(() => tryAgain(() => import("./pools/pools-page.tsx")));
const PoolPage = lazy(() => tryAgain(() => import("./pools/pool-page.tsx")));
const ClaimsPage = lazy(() => tryAgain(() => import("./claims/claims-page.tsx")));
const ClaimPage = lazy(() => tryAgain(() => import("./claims/claim-page.tsx")));
const SnapshotsPage = lazy(() => tryAgain(() => import("./snapshots/snapshots-page.tsx")));
const SnapshotPage = lazy(() => tryAgain(() => import("./snapshots/snapshot-page.tsx")));
const ImagesPage = lazy(() => tryAgain(() => import("./images/images-page.tsx")));
const MachinePage = lazy(() => tryAgain(() => import("./machine/machine-page.tsx")));

/** Lists, and the pages of their objects. */
const folders = [
  { folder: "templates", List: TemplatesPage, One: TemplatePage },
  { folder: "pools", List: PoolsPage, One: PoolPage },
  { folder: "claims", List: ClaimsPage, One: ClaimPage },
  { folder: "snapshots", List: SnapshotsPage, One: SnapshotPage },
] as const;

type Entry = "loading" | "signed-out" | Backend | Error;

export function App() {
  const [entry, setEntry] = useState<Entry>("loading");
  useEffect(() => {
    const leave = (): void => setEntry("signed-out");
    loadSession().then(
      (session) => setEntry(session === undefined ? "signed-out" : new Backend(session, leave)),
      (error: unknown) => setEntry(error as Error),
    );
  }, []);
  return (
    <PreferencesProvider>
      {entry === "loading" && <Loading />}
      {entry === "signed-out" && <SignedOut />}
      {entry instanceof Error && <SignedOut problem="The dashboard cannot be reached: the box may be stopped." />}
      {entry instanceof Backend && (
        <BackendProvider value={entry}>
          <ToastProvider>
            <ScopeProvider>
              <RecorderProvider>
                <PaletteHost onSignedOut={() => setEntry("signed-out")}>
                  <Layout onSignedOut={() => setEntry("signed-out")}>
                    <ErrorBoundary>
                      <Suspense fallback={<Loading />}>
                        <Routes />
                      </Suspense>
                    </ErrorBoundary>
                  </Layout>
                </PaletteHost>
              </RecorderProvider>
            </ScopeProvider>
          </ToastProvider>
        </BackendProvider>
      )}
    </PreferencesProvider>
  );
}

function Routes() {
  return (
    <Switch>
      <Route path="/">
        <OverviewPage />
      </Route>
      <Route path="/sandboxes">
        <SandboxesPage />
      </Route>
      <Route path="/events">
        <EventsPage />
      </Route>
      <Route path="/sandboxes/:namespace/:name">
        {({ namespace, name }) => <SandboxPage key={`${namespace}/${name}`} namespace={namespace} name={name} />}
      </Route>
      {folders.map(({ folder, List }) => (
        <Route key={folder} path={`/${folder}`}>
          <List />
        </Route>
      ))}
      {folders.map(({ folder, One }) => (
        <Route key={`${folder}/one`} path={`/${folder}/:namespace/:name`}>
          {({ namespace, name }) => <One key={`${namespace}/${name}`} namespace={namespace} name={name} />}
        </Route>
      ))}
      <Route path="/images">
        <ImagesPage />
      </Route>
      <Route path="/machine">
        <MachinePage />
      </Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}

function Loading() {
  return (
    <div className="loading" role="status">
      <span className="spinner" aria-hidden />
      <span className="visually-hidden">Loading</span>
    </div>
  );
}
