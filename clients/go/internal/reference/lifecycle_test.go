package reference

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

func TestDisconnectAndOpen(t *testing.T) {
	w := theWorld(t)
	ctx := t.Context()
	client, box := w.create(t, sandbox.Options{})
	if err := box.Open(ctx); !errors.Is(err, sandbox.ErrAlreadyOpen) {
		t.Errorf("got %v", err)
	}
	if err := box.Write(ctx, "kept", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	name, claim := box.SandboxName(), box.ClaimName()
	if err := box.Disconnect(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Run(ctx, "true"); box.IsReady() || !errors.Is(err, sandbox.ErrNotReady) || !strings.HasPrefix(err.Error(), "sandbox["+w.namespace+"/"+claim+"]") {
		t.Errorf("ready: %v; got %v", box.IsReady(), err)
	}
	if got := client.ListActiveSandboxes(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if err := box.Open(ctx); err != nil || box.SandboxName() != name {
		t.Fatalf("got sandbox %q instead of %q, %v", box.SandboxName(), name, err)
	}
	if got, err := box.Read(ctx, "kept"); string(got) != "kept" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	// Another program attaches, and its Disconnect deletes nothing.
	other, err := w.client(t, sandbox.Options{}).GetSandbox(ctx, claim, w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, other, "cat kept"); got.Stdout != "kept" {
		t.Errorf("got %+v", got)
	}
	if err := other.Disconnect(ctx); err != nil || run(t, box, "cat kept").Stdout != "kept" {
		t.Error(err)
	}
}

func TestOpenWithoutAPoolOrWithAMissingOne(t *testing.T) {
	w := theWorld(t)
	before := w.claims(t)
	unnamed, err := sandbox.New(t.Context(), sandbox.Options{Namespace: w.namespace, Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := unnamed.Open(t.Context()); !sandbox.IsReason(err, sandbox.InvalidArgument) {
		t.Errorf("got %v", err)
	}
	_, err = w.client(t, sandbox.Options{}).CreateSandbox(t.Context(), "nothing", w.namespace)
	if !errors.Is(err, sandbox.ErrClaimFailed) || errors.Is(err, sandbox.ErrTimeout) || !strings.Contains(err.Error(), "WarmPoolNotFound") {
		t.Errorf("got %v", err)
	}
	eventually(t, "no claim is left", func() bool { return slices.Equal(w.claims(t), before) })
}

func TestCancelledOpenLeavesNoClaim(t *testing.T) {
	w := theWorld(t)
	before := w.claims(t)
	box, err := sandbox.New(t.Context(), sandbox.Options{Namespace: w.namespace, WarmPoolName: w.pool, Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() { failed <- box.Open(ctx) }()
	eventually(t, "the claim exists", func() bool { return box.ClaimName() != "" || box.IsReady() })
	cancel()
	// Open may have succeeded before it was cancelled.
	if err := <-failed; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := box.Close(context.Background()); err != nil {
		t.Error(err)
	}
	eventually(t, "no claim is left", func() bool { return slices.Equal(w.claims(t), before) })
}

func TestSandboxThatSomebodyDeletes(t *testing.T) {
	w := theWorld(t)
	ctx := t.Context()
	_, box := w.create(t, sandbox.Options{})
	claim := box.ClaimName()
	if err := w.client(t, sandbox.Options{}).DeleteSandbox(ctx, claim, w.namespace); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the claim is gone", func() bool { return !slices.Contains(w.claims(t), claim) })
	if err := box.Disconnect(ctx); err != nil {
		t.Fatal(err)
	}
	if err := box.Open(ctx); !errors.Is(err, sandbox.ErrSandboxDeleted) || box.ClaimName() != "" {
		t.Errorf("got %v, claim %q", err, box.ClaimName())
	}
	if _, err := w.client(t, sandbox.Options{}).GetSandbox(ctx, claim, w.namespace); !sandbox.IsReason(err, sandbox.NotFound) || !errors.Is(err, sandbox.ErrSandboxDeleted) {
		t.Errorf("got %v", err)
	}
	// The handle can be used for another sandbox.
	if err := box.Open(ctx); err != nil || run(t, box, "echo again").Stdout != "again\n" {
		t.Error(err)
	}
}

func TestCloseEndsCommandsAndCanBeRepeated(t *testing.T) {
	w := theWorld(t)
	_, box := w.create(t, sandbox.Options{})
	failed := make(chan error)
	go func() {
		_, err := box.Run(t.Context(), "sleep 4713")
		failed <- err
	}()
	eventually(t, "the command runs", func() bool { return isRunning(t, box, "sleep 4713") })
	claim := box.ClaimName()
	for range 2 {
		if err := box.Close(t.Context()); err != nil || box.IsReady() || box.ClaimName() != "" {
			t.Errorf("got %v, claim %q", err, box.ClaimName())
		}
	}
	if err := <-failed; !errors.Is(err, sandbox.ErrNotReady) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the claim is gone", func() bool { return !slices.Contains(w.claims(t), claim) })
}

// TestInterrupted is the program of TestAutoCleanup.
func TestInterrupted(t *testing.T) {
	if os.Getenv("SANDBOX_INTERRUPTED") == "" {
		t.Skip("is started by TestAutoCleanup")
	}
	w := theWorld(t)
	client := w.client(t, sandbox.Options{})
	stop := client.EnableAutoCleanup()
	stop()
	client.EnableAutoCleanup()
	box, err := client.CreateSandbox(context.Background(), w.pool, w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("claim " + box.ClaimName() + "\n")
	select {}
}

func TestAutoCleanup(t *testing.T) {
	w := theWorld(t)
	program := exec.Command(os.Args[0], "-test.run=^TestInterrupted$", "-test.v")
	program.Env = append(os.Environ(), "SANDBOX_INTERRUPTED=1")
	output, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	buffer := make([]byte, 1024)
	for !strings.Contains(said.String(), "claim ") || !strings.HasSuffix(said.String(), "\n") {
		count, err := output.Read(buffer)
		if err != nil {
			t.Fatal(said.String())
		}
		said.Write(buffer[:count])
	}
	claim := strings.TrimSpace(strings.SplitN(said.String(), "claim ", 2)[1])
	if !slices.Contains(w.claims(t), claim) {
		t.Errorf("claim %q is not in %v", claim, w.claims(t))
	}
	if err := program.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = program.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("the program ended with %v instead of SIGINT", err)
	}
	eventually(t, "the claim is gone", func() bool { return !slices.Contains(w.claims(t), claim) })
}
