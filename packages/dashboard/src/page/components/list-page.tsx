/**
 * A page with one list: a heading, a search field, sorting, and what to do while it is empty. Search and sorting are in the address, so
 * that a view can be shared. `Table` renders the rows.
 */

import { Lock, SearchX } from "lucide-react";
import { type ReactNode, useDeferredValue, useMemo } from "react";
import { useSearchParams } from "wouter";
import type { Snapshot } from "../data/list-store.ts";
import { type KubeObject, keyOf } from "../data/resources.ts";
import { matches, parseQuery, type Searchable, type SortKey, sortBy } from "../model/search.ts";
import { EmptyState } from "./empty-state.tsx";
import { SearchField } from "./search-field.tsx";
import { StaleNote } from "./stale-note.tsx";
import { type Column, Table } from "./table.tsx";
import { Text } from "./text.tsx";

export interface ListViewProps<T extends KubeObject> {
  /** As in `sandboxes`. */
  readonly noun: string;
  readonly list: Snapshot<T>;
  readonly columns: readonly Column<T>[];
  readonly sortKeys: Readonly<Record<string, SortKey<T>>>;
  readonly firstSort: string;
  /** More text of an item to search in. It must be constant. */
  readonly searchable: Searchable<T>;
  readonly hrefOf?: (item: T) => string;
  readonly empty: ReactNode;
  readonly filter?: (item: T) => boolean;
  /** Controls beside the search field. */
  readonly controls?: ReactNode;
  readonly maxHeight?: string;
}

export function ListView<T extends KubeObject>(props: ListViewProps<T>) {
  const { noun, list, columns, sortKeys, firstSort, searchable, hrefOf, empty, filter, controls, maxHeight } = props;
  const [params, setParams] = useSearchParams();
  const text = params.get("q") ?? "";
  const query = useDeferredValue(text);
  const wanted = params.get("sort") ?? firstSort;
  // Anybody can write the address: `constructor` is not a column.
  const sort = Object.hasOwn(sortKeys, wanted.replace(/^-/, "")) ? wanted : firstSort;
  const by = sort.replace(/^-/, "");
  const isDescending = sort.startsWith("-");
  const set = (name: string, value: string): void =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const items = useMemo(() => {
    const parsed = parseQuery(query);
    const found = list.items.filter((item) => (filter?.(item) ?? true) && matches(item, parsed, searchable));
    return sortBy(found, sortKeys[by] ?? (() => 0), isDescending);
  }, [list.items, filter, query, searchable, sortKeys, by, isDescending]);
  return (
    <section className="card" aria-label={noun}>
      <div className="list-bar">
        <SearchField
          label={`Search ${noun}`}
          placeholder={`Search ${noun}, or label=value`}
          value={text}
          onChange={(value) => set("q", value)}
        />
        {controls}
        <StaleNote state={list.state} since={list.since} />
        <span className="list-count" role="status">
          {items.length === list.items.length ? `${items.length}` : `${items.length} of ${list.items.length}`}
        </span>
      </div>
      {items.length > 0 ? (
        <Table
          label={noun}
          columns={columns}
          items={items}
          keyOf={keyOf}
          {...(hrefOf && { hrefOf })}
          {...(maxHeight !== undefined && { maxHeight })}
          sorting={{ by, isDescending }}
          onSort={(next) => set("sort", `${next.isDescending ? "-" : ""}${next.by}`)}
        />
      ) : (
        <NoRows noun={noun} list={list} empty={empty} />
      )}
    </section>
  );
}

function NoRows<T>({
  noun,
  list,
  empty,
}: {
  readonly noun: string;
  readonly list: Snapshot<T>;
  readonly empty: ReactNode;
}) {
  if (list.state === "loading") {
    return (
      <div className="loading" role="status">
        <span className="spinner" aria-hidden />
        <span className="visually-hidden">Loading {noun}</span>
      </div>
    );
  }
  if (list.state === "refused") {
    return (
      <EmptyState icon={Lock} title={`You may not list ${noun} here`}>
        <Text of={list.error?.message} />
      </EmptyState>
    );
  }
  return list.items.length === 0 ? empty : <EmptyState icon={SearchX} title={`No ${noun} match`} />;
}
