/** The page of one object: its heading with actions, what to show while it loads, and when it does not exist or may not be read. */
import { ChevronRight, Lock, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { KubeObject } from "../data/resources.ts";
import type { OneObject } from "../data/use-data.ts";
import { Badge } from "./badge.tsx";
import { EmptyState } from "./empty-state.tsx";
import { PageHeader } from "./page-header.tsx";
import { StaleNote } from "./stale-note.tsx";
import { Text } from "./text.tsx";
import { RelativeTime } from "./time.tsx";

interface ObjectPageProps<T extends KubeObject> {
  /** As in `pool`. */
  readonly noun: string;
  readonly icon: LucideIcon;
  /** The list that the object is in. */
  readonly list: { readonly href: string; readonly title: string };
  readonly namespace: string;
  readonly name: string;
  readonly found: OneObject<T>;
  readonly badge?: (object: T) => ReactNode;
  readonly actions?: (object: T) => ReactNode;
  readonly children: (object: T) => ReactNode;
}

export function ObjectPage<T extends KubeObject>(props: ObjectPageProps<T>) {
  const { noun, icon, list, namespace, name, found, badge, actions, children } = props;
  const { object, state, since, error } = found;
  const created = object?.metadata?.creationTimestamp;
  const isDeleting = object?.metadata?.deletionTimestamp !== undefined;
  return (
    <>
      <nav className="crumbs" aria-label="Breadcrumb">
        <Link href={list.href}>{list.title}</Link>
        <ChevronRight size={13} aria-hidden />
        <Text of={namespace} />
      </nav>
      <PageHeader
        title={name}
        subtitle={
          object !== undefined && (
            <span className="object-line">
              {isDeleting ? <Badge>Deleting</Badge> : badge?.(object)}
              <span>
                created <RelativeTime at={created} suffix=" ago" />
              </span>
              <StaleNote state={state} since={since} />
            </span>
          )
        }
      >
        {object !== undefined && !isDeleting && actions?.(object)}
      </PageHeader>
      {object !== undefined && <div className="stack">{children(object)}</div>}
      {object === undefined && state === "loading" && (
        <div className="loading" role="status">
          <span className="spinner" aria-hidden />
          <span className="visually-hidden">Loading the {noun}</span>
        </div>
      )}
      {object === undefined && state === "refused" && (
        <div className="card">
          <EmptyState icon={Lock} title={`You may not read this ${noun}`}>
            <Text of={error?.message} />
          </EmptyState>
        </div>
      )}
      {object === undefined && (state === "live" || state === "stale") && (
        <div className="card">
          <EmptyState icon={icon} title={`There is no ${noun} with this name`}>
            It may have been deleted. <Link href={list.href}>Show all {list.title.toLowerCase()}</Link>
          </EmptyState>
        </div>
      )}
    </>
  );
}
