// Package reference tests the interface of the reference's Go client against a box. test/sdk/go-reference.int.test.ts starts the box and
// sets the environment.
package reference

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

// world is the box of the environment, as a user who may edit one namespace of it.
type world struct{ namespace, pool, router, token string }

func theWorld(t *testing.T) world {
	t.Helper()
	w := world{os.Getenv("SANDBOX_NAMESPACE"), os.Getenv("SANDBOX_POOL"), os.Getenv("ROUTER_ADDRESS"), os.Getenv("ROUTER_TOKEN")}
	if w.pool == "" {
		t.Skip("needs a box, which test/sdk/go-reference.int.test.ts starts")
	}
	return w
}

func (w world) client(t *testing.T, options sandbox.Options) *sandbox.Client {
	t.Helper()
	options.Quiet = true
	client, err := sandbox.NewClient(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// create returns a sandbox that is deleted after the test.
func (w world) create(t *testing.T, options sandbox.Options) (*sandbox.Client, *sandbox.Sandbox) {
	t.Helper()
	client := w.client(t, options)
	box, err := client.CreateSandbox(t.Context(), w.pool, w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client, box
}

func run(t *testing.T, box *sandbox.Sandbox, command string, options ...sandbox.CallOption) *sandbox.ExecutionResult {
	t.Helper()
	result, err := box.Run(t.Context(), command, options...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func (w world) claims(t *testing.T) []string {
	t.Helper()
	names, err := w.client(t, sandbox.Options{}).ListAllSandboxes(t.Context(), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// isRunning reports whether a process in the sandbox has this text in its command line.
func isRunning(t *testing.T, box *sandbox.Sandbox, text string) bool {
	t.Helper()
	// The brackets keep the pattern from matching itself.
	result := run(t, box, "pgrep -f '["+text[:1]+"]"+text[1:]+"'")
	return strings.TrimSpace(result.Stdout) != ""
}
