/**
 * A table that renders only the rows in view, so that thousands of rows scroll smoothly. Each row is rendered again only if its item
 * changed: keep `columns` constant (outside the component, or in `useMemo`), and items identical while they do not change.
 * A row with `href` is followed by a click anywhere in it; its first column must be a link for the keyboard.
 */
import { ChevronDown, ChevronUp } from "lucide-react";
import { memo, type ReactNode, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";

export interface Column<T> {
  readonly id: string;
  readonly title: string;
  /** A track of CSS grid, such as `minmax(120px, 2fr)`. */
  readonly width: string;
  readonly render: (item: T) => ReactNode;
  readonly isSortable?: boolean;
  /** The first click puts the largest first, as for amounts. */
  readonly isLargestFirst?: boolean;
  /** Hidden on narrow screens. */
  readonly isExtra?: boolean;
  readonly align?: "end";
  /** How many columns the cell of an item covers, if the next ones would be empty. Default: one. */
  readonly spanOf?: (item: T) => number;
}

export interface Sorting {
  readonly by: string;
  readonly isDescending: boolean;
}

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly hrefOf?: (item: T) => string;
  readonly sorting?: Sorting;
  readonly onSort?: (sorting: Sorting) => void;
  /** Default: the table is as high as its rows, up to 70 % of the window. */
  readonly maxHeight?: string;
}

const rowHeight = 44;
const overscan = 8;

export function Table<T>(props: TableProps<T>) {
  const { label, columns, items, keyOf, hrefOf, sorting, onSort, maxHeight } = props;
  const body = useRef<HTMLDivElement>(null);
  const { first, last, onScroll } = useWindow(body, items.length);
  const template = columns.map(({ width }) => width).join(" ");
  const narrow = columns.flatMap(({ width, isExtra }) => (isExtra === true ? [] : [width])).join(" ");
  const tracks = { "--tracks": template, "--narrow-tracks": narrow } as object;
  return (
    <div className="table" role="table" aria-label={label} aria-rowcount={items.length + 1} style={tracks}>
      <div
        className="table-scroll"
        ref={body}
        onScroll={onScroll}
        role="presentation"
        style={maxHeight === undefined ? {} : { maxHeight }}
      >
        <div role="rowgroup">
          <div className="table-head" role="row" aria-rowindex={1}>
            {columns.map((column) => (
              <Head key={column.id} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </div>
        </div>
        <div className="table-rows" role="rowgroup" style={{ height: items.length * rowHeight }}>
          {items.slice(first, last).map((item, index) => (
            <MemoRow
              key={keyOf(item)}
              item={item}
              columns={columns as readonly Column<unknown>[]}
              index={first + index}
              href={hrefOf?.(item)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** The range of rows in view, with some before and after it. */
function useWindow(body: React.RefObject<HTMLDivElement | null>, count: number) {
  const [view, setView] = useState({ top: 0, height: 800 });
  const onScroll = (): void => {
    const { scrollTop = 0, clientHeight = 800 } = body.current ?? {};
    const top = Math.floor(scrollTop / (rowHeight * 4)) * rowHeight * 4;
    setView((old) => (old.top === top && old.height === clientHeight ? old : { top, height: clientHeight }));
  };
  useEffect(() => {
    const observer = new ResizeObserver(onScroll);
    if (body.current !== null) observer.observe(body.current);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.min(Math.floor(view.top / rowHeight) - overscan, count - 1));
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscan + 4);
  return { first, last, onScroll };
}

interface HeadProps<T> {
  readonly column: Column<T>;
  readonly sorting: Sorting | undefined;
  readonly onSort: ((sorting: Sorting) => void) | undefined;
}

function Head<T>({ column, sorting, onSort }: HeadProps<T>) {
  const { id, title, isSortable, isLargestFirst, isExtra, align } = column;
  const isSorted = sorting?.by === id;
  const order = !isSorted ? "none" : sorting.isDescending ? "descending" : "ascending";
  const Arrow = order === "descending" ? ChevronDown : ChevronUp;
  const canSort = isSortable === true && onSort !== undefined;
  const isNextDescending = isSorted ? order === "ascending" : isLargestFirst === true;
  return (
    <div role="columnheader" className={classOf(isExtra, align)} {...(canSort && { "aria-sort": order })}>
      {canSort ? (
        <button type="button" className="sort" onClick={() => onSort({ by: id, isDescending: isNextDescending })}>
          {title}
          {isSorted && <Arrow size={13} aria-hidden />}
        </button>
      ) : (
        title
      )}
    </div>
  );
}

interface RowProps {
  readonly item: unknown;
  readonly columns: readonly Column<unknown>[];
  readonly index: number;
  readonly href: string | undefined;
}

const MemoRow = memo(function Row({ item, columns, index, href }: RowProps) {
  const [, navigate] = useLocation();
  return (
    // biome-ignore lint: the link in the first cell is for the keyboard.
    <div
      role="row"
      className={href === undefined ? "table-row" : "table-row table-row-link"}
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${index * rowHeight}px)` }}
      onClick={(event) => {
        const isControl = (event.target as Element).closest("a, button, input") !== null;
        if (href !== undefined && !isControl) navigate(href);
      }}
    >
      {cellsOf(columns, item).map(([{ id, render, isExtra, align }, span]) => (
        <div
          key={id}
          role="cell"
          className={classOf(isExtra, align)}
          {...(span > 1 && { "aria-colspan": span, style: { gridColumn: `span ${span}` } })}
        >
          {render(item)}
        </div>
      ))}
    </div>
  );
});

/** The columns that have a cell of their own, and how many each covers. */
function cellsOf<T>(columns: readonly Column<T>[], item: T): (readonly [Column<T>, span: number])[] {
  const cells: (readonly [Column<T>, number])[] = [];
  for (let at = 0; at < columns.length; ) {
    const column = columns[at] as Column<T>;
    const span = column.spanOf?.(item) ?? 1;
    cells.push([column, span]);
    at += span;
  }
  return cells;
}

function classOf(isExtra: boolean | undefined, align: "end" | undefined): string {
  return `cell${isExtra === true ? " cell-extra" : ""}${align === "end" ? " cell-end" : ""}`;
}
