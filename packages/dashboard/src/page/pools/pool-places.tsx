/** The members of a pool as places. They change in front of the reader while the pool fills. */
import { Link } from "wouter";
import { cleanText } from "../components/clean-text.ts";
import { describePlaces, type Place, type PlaceKind } from "../model/pool-members.ts";
import { hrefOfSandbox } from "../sandboxes/sandbox-columns.tsx";

const mostShown = 120;

const titles: Readonly<Record<PlaceKind, string>> = {
  ready: "Ready",
  outdated: "Ready, out of date",
  starting: "Starting",
  failed: "Failed",
  missing: "Missing",
};

export function PoolPlaces({ places }: { readonly places: readonly Place[] }) {
  const kinds = [...new Set(places.map(({ kind }) => kind))];
  return (
    <div className="places-frame">
      <ul className="places" aria-label="Members of the pool">
        {places.slice(0, mostShown).map((place, index) => (
          <li key={place.sandbox?.metadata.uid ?? `missing ${index}`}>
            <PlaceMark place={place} />
          </li>
        ))}
      </ul>
      <p className="places-text" role="status">
        {describePlaces(places)}
        {places.length > mostShown && `; ${mostShown} are shown`}
      </p>
      <p className="places-legend" aria-hidden>
        {kinds.map((kind) => (
          <span key={kind}>
            <span className={`place place-${kind}`} />
            {titles[kind]}
          </span>
        ))}
      </p>
    </div>
  );
}

function PlaceMark({ place: { kind, sandbox } }: { readonly place: Place }) {
  const className = `place place-${kind}`;
  if (sandbox === undefined) return <span className={className} role="img" aria-label={titles[kind]} />;
  const name = cleanText(sandbox.metadata.name ?? "");
  return (
    <Link
      href={hrefOfSandbox(sandbox)}
      className={className}
      aria-label={`${name}: ${titles[kind]}`}
      title={`${name}: ${titles[kind]}`}
    />
  );
}
