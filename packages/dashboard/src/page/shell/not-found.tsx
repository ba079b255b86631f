import { SearchX } from "lucide-react";
import { Link } from "wouter";
import { EmptyState } from "../components/empty-state.tsx";
import { PageHeader } from "../components/page-header.tsx";

export function NotFound() {
  return (
    <>
      <PageHeader title="Not found" />
      <div className="card">
        <EmptyState icon={SearchX} title="There is no page at this address">
          <Link href="/">Go to the overview</Link>
        </EmptyState>
      </div>
    </>
  );
}
