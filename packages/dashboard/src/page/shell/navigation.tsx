/** The pages of the dashboard, in the order of the sidebar. The command palette uses the same list. Only users who may read nodes see the machine. */
import {
  Boxes,
  Camera,
  FileBox,
  HardDrive,
  Images,
  Layers,
  LayoutDashboard,
  type LucideIcon,
  ScrollText,
  Ticket,
} from "lucide-react";
import { Link, useLocation } from "wouter";
import { nodes } from "../data/resources.ts";
import { useCan } from "../data/use-data.ts";

export interface Page {
  readonly href: string;
  readonly title: string;
  readonly icon: LucideIcon;
}

export const pages: readonly (Page & { readonly section?: string })[] = [
  { href: "/", title: "Overview", icon: LayoutDashboard },
  { href: "/sandboxes", title: "Sandboxes", icon: Boxes },
  { href: "/events", title: "Events", icon: ScrollText },
  { href: "/templates", title: "Templates", icon: FileBox, section: "Supply" },
  { href: "/pools", title: "Pools", icon: Layers },
  { href: "/claims", title: "Claims", icon: Ticket },
  { href: "/snapshots", title: "Snapshots", icon: Camera, section: "Storage" },
  { href: "/images", title: "Images", icon: Images },
  { href: "/machine", title: "Machine", icon: HardDrive, section: "System" },
];

export function Navigation({ onNavigate }: { readonly onNavigate: () => void }) {
  const [location] = useLocation();
  const canNodes = useCan("list", nodes);
  const shown = pages.filter(({ href }) => href !== "/machine" || canNodes);
  const isCurrent = (href: string): boolean =>
    href === "/" ? location === "/" : `${location}/`.startsWith(`${href}/`);
  return (
    <nav className="navigation" aria-label="Pages">
      <ul>
        {shown.map(({ href, title, icon: Icon, section }) => (
          <li key={href}>
            {section !== undefined && <span className="navigation-section">{section}</span>}
            <Link href={href} onClick={onNavigate} {...(isCurrent(href) && { "aria-current": "page" as const })}>
              <Icon size={16} aria-hidden />
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
