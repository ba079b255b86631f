import { ChevronRight, FolderRoot } from "lucide-react";
import { Text } from "../../../components/text.tsx";
import { crumbsOf, shownName } from "./file-path.ts";

interface BreadcrumbsProps {
  readonly folder: string;
  readonly onOpen: (folder: string) => void;
}

/** Where the folder is, with a button for each folder above it. */
export function Breadcrumbs({ folder, onOpen }: BreadcrumbsProps) {
  const crumbs = crumbsOf(folder);
  return (
    <nav className="file-crumbs" aria-label="Folder">
      <ol className="plain">
        <li>
          <button
            type="button"
            className="link"
            aria-current={folder === "" ? "location" : undefined}
            onClick={() => onOpen("")}
          >
            <FolderRoot size={15} aria-hidden />
            workspace
          </button>
        </li>
        {crumbs.map(({ name, path }) => (
          <li key={path}>
            <ChevronRight size={13} aria-hidden />
            <button
              type="button"
              className="link"
              aria-current={path === folder ? "location" : undefined}
              onClick={() => onOpen(path)}
            >
              <Text of={shownName(name)} />
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
