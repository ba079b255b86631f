import { createRoot } from "react-dom/client";
import "./style.css";

createRoot(document.getElementById("root") as HTMLElement).render(<h1>Agent Sandbox</h1>);
