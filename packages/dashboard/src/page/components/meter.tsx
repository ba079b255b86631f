/** How much of an amount is in use, as a bar. The numbers are beside it as text, so it is hidden from screen readers. */
export function Meter({ share }: { readonly share: number | undefined }) {
  if (share === undefined) return <span className="meter meter-none" aria-hidden />;
  const level = share >= 0.9 ? "meter-full" : share >= 0.75 ? "meter-high" : "";
  return (
    <span className="meter" aria-hidden>
      <span className={level} style={{ width: `${(100 * Math.min(1, share)).toFixed(1)}%` }} />
    </span>
  );
}
