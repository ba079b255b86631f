import { Boxes } from "lucide-react";
import { EmptyState } from "../components/empty-state.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { RelativeTime } from "../components/time.tsx";
import { sandboxes } from "../data/resources.ts";
import { useObject } from "../data/use-data.ts";

/** One sandbox. Loaded when it is opened. */
export default function SandboxPage({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { object, state } = useObject(sandboxes, { namespace, name });
  return (
    <>
      <PageHeader title={name} subtitle={namespace} />
      {object === undefined && state !== "loading" && (
        <div className="card">
          <EmptyState icon={Boxes} title="This sandbox does not exist" />
        </div>
      )}
      {object !== undefined && (
        <div className="card pad">
          Created <RelativeTime at={object.metadata.creationTimestamp} suffix=" ago" />
        </div>
      )}
    </>
  );
}
