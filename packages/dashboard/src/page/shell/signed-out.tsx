/** What a visitor without a session sees: how to log in. There is no form, because the page never handles credentials. */
import { Command } from "../components/command.tsx";
import { Logo } from "./logo.tsx";

export function SignedOut({ problem }: { readonly problem?: string }) {
  return (
    <main className="signed-out">
      <div className="card signed-out-card">
        <Logo />
        <h1>Log in to Agent Sandbox</h1>
        <p>{problem ?? "Run this command on the machine. It opens this page with your rights."}</p>
        <Command text="agent-sandbox dashboard" />
        <p className="faint">The link works once, within a minute. A session ends after eight hours.</p>
      </div>
    </main>
  );
}
