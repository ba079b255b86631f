/** A link to the page of an object, and in lists the namespace beside it. */
import { Link } from "wouter";
import { type Folder, hrefIn } from "../model/links.ts";
import { Text } from "./text.tsx";

interface ObjectLinkProps {
  readonly folder: Folder;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly hasNamespace?: boolean;
}

export function ObjectLink({ folder, namespace, name, hasNamespace }: ObjectLinkProps) {
  if (!name) return <span className="faint">–</span>;
  return (
    <>
      <Link href={hrefIn(folder, { namespace, name })}>
        <Text of={name} />
      </Link>
      {hasNamespace === true && (
        <>
          {" "}
          <Text of={namespace} className="faint small" />
        </>
      )}
    </>
  );
}
