import { Upload } from "lucide-react";
import { type DragEvent, type ReactNode, useRef, useState } from "react";

interface DropZoneProps {
  /** Where the files go, as people read it. */
  readonly place: string;
  readonly onDrop: (transfer: DataTransfer) => void;
  readonly children: ReactNode;
}

/** Accepts files that are dragged onto its content. */
export function DropZone({ place, onDrop, children }: DropZoneProps) {
  const [isOver, setOver] = useState(false);
  // Entering a child is reported before leaving its parent.
  const depth = useRef(0);
  const isFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes("Files");
  const move = (event: DragEvent, step: number): void => {
    if (!isFiles(event)) return;
    event.preventDefault();
    depth.current = Math.max(0, depth.current + step);
    setOver(depth.current > 0);
  };
  return (
    <section
      className="drop-zone"
      aria-label="Files"
      onDragEnter={(event) => move(event, 1)}
      onDragOver={(event) => move(event, 0)}
      onDragLeave={(event) => move(event, -1)}
      onDrop={(event) => {
        move(event, -depth.current);
        if (isFiles(event)) onDrop(event.dataTransfer);
      }}
    >
      {children}
      {isOver && (
        <div className="drop-hint" aria-hidden>
          <Upload size={22} />
          <span>Drop to upload to {place}</span>
        </div>
      )}
    </section>
  );
}
