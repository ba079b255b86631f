/** Shows what went wrong instead of an empty window. The rest of the page stays usable. */
import { Component, type ReactNode } from "react";
import { Button } from "../components/button.tsx";
import { Text } from "../components/text.tsx";

interface State {
  readonly error: Error | undefined;
}

export class ErrorBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="card problem" role="alert">
        <h2>This part of the page failed</h2>
        <p>
          <Text of={error.message} />
        </p>
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    );
  }
}
