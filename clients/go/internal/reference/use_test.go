package reference

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

func TestTunnelWithoutArguments(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	ctx := t.Context()
	client, box := w.create(t, sandbox.Options{})
	if !box.IsReady() || !strings.HasPrefix(box.ClaimName(), "sandbox-claim-") || box.SandboxName() == "" || box.PodName() == "" || box.PodIP() == "" {
		t.Errorf("claim %q, sandbox %q, Pod %q, address %q", box.ClaimName(), box.SandboxName(), box.PodName(), box.PodIP())
	}
	if got := run(t, box, `sh -c 'echo out; echo err >&2; exit 3'`); got.Stdout != "out\n" || got.Stderr != "err\n" || got.ExitCode != 3 {
		t.Errorf("got %+v", got)
	}
	if got := run(t, box, "echo $HOME > x"); got.Stdout != "$HOME > x\n" {
		t.Errorf("a shell saw the command: %+v", got)
	}

	content := []byte("a\x00ü\xff")
	if err := box.Write(ctx, "folder/ü %41.bin", content); err != nil {
		t.Error(err)
	}
	if got, err := box.Read(ctx, "folder/ü %41.bin"); string(got) != string(content) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	entries, err := box.List(ctx, "folder")
	if err != nil || len(entries) != 1 || entries[0].Name != "ü %41.bin" || entries[0].Size != 5 || entries[0].Type != sandbox.FileTypeFile || entries[0].ModTime.IsZero() {
		t.Errorf("got %+v, %v", entries, err)
	}
	for path, want := range map[string]bool{"folder": true, "nothing": false} {
		if got, err := box.Exists(ctx, path); got != want || err != nil {
			t.Errorf("Exists(%q) = %v, %v", path, got, err)
		}
	}
	var response *sandbox.HTTPError
	if _, err := box.Read(ctx, "nothing"); !errors.As(err, &response) || response.StatusCode != http.StatusNotFound || response.Operation != "read" {
		t.Errorf("got %v", err)
	}
	if err := box.Delete(ctx, "folder", true); !errors.Is(err, sandbox.ErrUnsupportedByRuntime) {
		t.Errorf("got %v", err)
	}

	key := sandbox.Key{Namespace: w.namespace, ClaimName: box.ClaimName()}
	if got := client.ListActiveSandboxes(); !reflect.DeepEqual(got, []sandbox.Key{key}) {
		t.Errorf("got %v", got)
	}
	if same, err := client.GetSandbox(ctx, key.ClaimName, w.namespace); same != box || err != nil {
		t.Errorf("got another handle, %v", err)
	}
}

func TestWhatTheReferenceLacks(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, box := w.create(t, sandbox.Options{Labels: map[string]string{"team": "a"}, Lifetime: time.Hour, Env: map[string]string{"COLOR": "red"}})
	if got, err := box.Commands().RunArgs(t.Context(), []string{"sh", "-c", "cat; echo $COLOR $EXTRA"}, sandbox.WithStdin([]byte("in ")), sandbox.WithEnv(map[string]string{"EXTRA": "x"})); err != nil || got.Stdout != "in red x\n" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := box.RunCode(t.Context(), "6 * 7"); err != nil || got.Text != "42" {
		t.Errorf("got %+v, %v", got, err)
	}
	if status, err := box.Status(t.Context()); err != nil || status.Phase != sandbox.PhaseReady {
		t.Errorf("got %+v, %v", status, err)
	}
}

func TestParallelCommandsThroughOneTunnel(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, box := w.create(t, sandbox.Options{})
	var all sync.WaitGroup
	for number := range 32 {
		all.Go(func() {
			if got, err := box.Run(t.Context(), fmt.Sprintf("echo %d", number)); err != nil || got.Stdout != fmt.Sprintln(number) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	all.Wait()
	large := []byte(strings.Repeat("0123456789abcdef", 1<<18))
	if err := box.Write(t.Context(), "large", large); err != nil {
		t.Error(err)
	}
	if got, err := box.Read(t.Context(), "large"); string(got) != string(large) || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestDirectMode(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, box := w.create(t, sandbox.Options{APIURL: "http://" + w.router, Token: w.token})
	if got := run(t, box, "echo hello"); got.Stdout != "hello\n" {
		t.Errorf("got %+v", got)
	}
	_, stranger := w.create(t, sandbox.Options{APIURL: "http://" + w.router})
	_, err := stranger.Run(t.Context(), "echo hello")
	var response *sandbox.HTTPError
	if !errors.As(err, &response) || response.StatusCode != http.StatusUnauthorized || strings.Contains(err.Error(), w.token) {
		t.Errorf("got %v", err)
	}
}

// transport adds a credential, as programs for the reference's client do.
type transport struct{ token string }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+t.token)
	return http.DefaultTransport.RoundTrip(request)
}

func TestOwnTransport(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	for name, options := range map[string]sandbox.Options{
		"direct":                           {APIURL: "http://" + w.router, HTTPTransport: transport{w.token}},
		"tunnel":                           {HTTPTransport: transport{w.token}},
		"tunnel with a standard transport": {HTTPTransport: &http.Transport{}},
	} {
		t.Run(name, func(t *testing.T) {
			_, box := w.create(t, options)
			if got := run(t, box, "echo hello"); got.Stdout != "hello\n" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSandboxdRuntime(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	ctx := t.Context()
	_, box := w.create(t, sandbox.Options{Runtime: sandbox.RuntimeSandboxd, MaxDownloadSize: 100})
	if got := run(t, box, "echo $((40 + 2)) | tee answer"); got.Stdout != "42\n" {
		t.Errorf("got %+v", got)
	}
	if got, err := box.Read(ctx, "answer"); string(got) != "42\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := box.Delete(ctx, "answer", false); err != nil {
		t.Error(err)
	}
	if exists, err := box.Exists(ctx, "answer"); exists || err != nil {
		t.Errorf("got %v, %v", exists, err)
	}
	if err := box.Write(ctx, "large", make([]byte, 101)); err != nil {
		t.Error(err)
	}
	if _, err := box.Read(ctx, "large"); !sandbox.IsReason(err, sandbox.LimitExceeded) {
		t.Errorf("got %v", err)
	}
	for _, path := range []string{"", ".", "..", "a/", "a/../b", "a\nb"} {
		if err := box.Write(ctx, path, nil); !sandbox.IsReason(err, sandbox.InvalidArgument) {
			t.Errorf("Write(%q) gave %v", path, err)
		}
	}
}

func TestTimeoutEndsTheCommandInside(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, box := w.create(t, sandbox.Options{})
	if _, err := box.Run(t.Context(), "sleep 4711", sandbox.WithTimeout(time.Second)); !errors.Is(err, sandbox.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the command has ended", func() bool { return !isRunning(t, box, "sleep 4711") })
}

func TestCancelEndsTheCommandInside(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, box := w.create(t, sandbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	calls := map[string]func() error{
		"sleep 4712": func() error {
			_, err := box.Run(ctx, "sleep 4712")
			return err
		},
		// This one is repeated after a lost connection, so the sandbox waits ten seconds for that.
		"sleep 4714": func() error {
			_, err := box.Commands().RunArgs(ctx, []string{"sleep", "4714"})
			return err
		},
	}
	failed := make(chan error)
	for _, call := range calls {
		go func() { failed <- call() }()
	}
	for command := range calls {
		eventually(t, command+" runs", func() bool { return isRunning(t, box, command) })
	}
	cancel()
	for range calls {
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	for command := range calls {
		eventually(t, command+" has ended", func() bool { return !isRunning(t, box, command) })
	}
}
