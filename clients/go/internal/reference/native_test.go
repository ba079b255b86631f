package reference

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

func TestTreesAndWatches(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	ctx := t.Context()
	_, box := w.create(t, sandbox.Options{})
	files := box.Files()
	watch, err := files.Watch(ctx, ".", false)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	for _, path := range []string{"from/a", "from/b/c"} {
		if err := files.Write(ctx, path, []byte(path)); err != nil {
			t.Fatal(err)
		}
	}
	for {
		change, err := watch.Next()
		if err != nil {
			t.Fatal(err)
		}
		if change.Type == "created" && strings.HasSuffix(change.Path, "from") {
			break
		}
	}
	archive, err := files.ReadArchive(ctx, "from")
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteArchive(ctx, "to", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for entry, err := range files.Tree(ctx, "to") {
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, entry.Path)
	}
	slices.Sort(paths)
	if len(paths) != 3 || !strings.HasSuffix(paths[0], "to/a") || !strings.HasSuffix(paths[2], "to/b/c") {
		t.Errorf("got %q", paths)
	}
	if _, err := files.ReadArchive(ctx, "../x"); !sandbox.IsReason(err, sandbox.Forbidden) {
		t.Errorf("got %v", err)
	}
	for _, err := range files.Tree(ctx, "nothing") {
		if !sandbox.IsReason(err, sandbox.NotFound) {
			t.Errorf("got %v", err)
		}
	}
}

func TestProcessesAndPorts(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	ctx := t.Context()
	_, box := w.create(t, sandbox.Options{APIURL: "http://" + w.router, Token: w.token})
	server, err := box.Commands().StartArgs(ctx, []string{"python3", "-m", "http.server", "8000"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := box.WaitForPort(ctx, 8000, sandbox.WithTimeout(30*time.Second)); err != nil {
		t.Fatal(err)
	}
	ports, err := box.Ports(ctx)
	if err != nil || !slices.ContainsFunc(ports, func(each sandbox.OpenPort) bool {
		return each.Port == 8000 && strings.Contains(each.Command, "python3")
	}) {
		t.Errorf("got %+v, %v", ports, err)
	}
	processes, err := box.Commands().List(ctx)
	isServer := func(each sandbox.ProcessInfo) bool {
		return each.ID == server.ID && each.Exit == nil && slices.Contains(each.Command, "http.server") && !each.StartedAt.IsZero()
	}
	if err != nil || !slices.ContainsFunc(processes, isServer) {
		t.Errorf("got %+v, %v", processes, err)
	}
	address, err := box.PortURL(8000)
	if err != nil || !strings.HasPrefix(address, "http://8000-"+box.SandboxName()+"."+w.namespace+".localhost:") {
		t.Errorf("got %q, %v", address, err)
	}
	login, err := box.LoginURL(ctx, 8000)
	if err != nil || !strings.Contains(login, box.SandboxName()) || strings.Contains(login, w.token) {
		t.Errorf("got %q, %v", login, err)
	}
	// The identity of a port-forward cannot issue credentials that outlive it.
	_, tunnelled := w.create(t, sandbox.Options{})
	if _, err := tunnelled.LoginURL(ctx, 8000); !sandbox.IsReason(err, sandbox.Unauthenticated) && !sandbox.IsReason(err, sandbox.Forbidden) {
		t.Errorf("got %v", err)
	}
}

func TestPodTunnel(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	ctx := t.Context()
	_, owner := w.create(t, sandbox.Options{})
	// A daemon as in a sandbox of the reference: it has no token, and the router does not know it.
	daemon, err := owner.Commands().StartArgs(ctx, []string{
		"/opt/agent-sandbox/sandboxd", "run", "--insecure-no-token", "--socket=/tmp/second.sock", "--legacy-port=18888", "--rest-port=18080", "--grpc-port=19090",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	for _, port := range []int{18080, 19090} {
		if err := owner.WaitForPort(ctx, port); err != nil {
			t.Fatal(err)
		}
	}
	client := w.client(t, sandbox.Options{Runtime: sandbox.RuntimeSandboxd, SandboxdRESTPort: 18080, SandboxdGRPCPort: 19090})
	box, err := client.GetSandbox(ctx, owner.ClaimName(), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Disconnect(ctx)
	if got := run(t, box, "echo $((40 + 2)); printf '\\377' >&2; exit 3"); got.Stdout != "42\n" || got.Stderr != "\ufffd" || got.ExitCode != 3 {
		t.Errorf("got %+v", got)
	}
	if got, err := box.Commands().RunArgs(ctx, []string{"sh", "-c", "echo $A $(pwd)"}, sandbox.WithEnv(map[string]string{"A": "b"})); err != nil || !strings.HasPrefix(got.Stdout, "b /") {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := box.Write(ctx, "in/a", []byte("x")); err != nil {
		t.Error(err)
	}
	if err := box.Delete(ctx, "in", true); err != nil {
		t.Error(err)
	}
	if exists, err := box.Exists(ctx, "in"); exists || err != nil {
		t.Errorf("got %v, %v", exists, err)
	}
	if _, err := box.Commands().RunArgs(ctx, []string{"no-such-program"}); !sandbox.IsReason(err, sandbox.NotFound) && !sandbox.IsReason(err, sandbox.InvalidArgument) {
		t.Errorf("got %v", err)
	}
	if _, err := box.Run(ctx, "sleep 4715", sandbox.WithTimeout(time.Second)); !errors.Is(err, sandbox.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	if _, err := box.Run(ctx, "head -c 17000000 /dev/zero"); !errors.Is(err, sandbox.ErrResponseTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestBothInterfacesOfAClient(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	ctx := t.Context()
	ours, err := sandbox.Connect(ctx, sandbox.Options{Router: "http://" + w.router, Kubeconfig: os.Getenv("KUBECONFIG"), Namespace: w.namespace})
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*sandbox.Client{"Connect": ours, "NewClient": w.client(t, sandbox.Options{Namespace: w.namespace})} {
		created, err := client.Create(ctx, sandbox.CreateOptions{Pool: w.pool})
		if err != nil {
			t.Fatal(err)
		}
		// A handle of Create runs scripts, one of CreateSandbox words.
		if got, err := created.Run(ctx, "echo $((1 + 1))"); err != nil || got.Stdout != "2\n" || created.ClaimName() == "" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		claimed, err := client.CreateSandbox(ctx, w.pool, w.namespace)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := claimed.Run(ctx, "echo $((1 + 1))"); err != nil || got.Stdout != "$((1 + 1))\n" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		// Close of a handle from Get keeps the sandbox.
		found, err := client.Get(ctx, created.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := found.Close(ctx); err != nil || found.IsReady() || !created.IsReady() {
			t.Errorf("%s: got %v", name, err)
		}
		if got, err := created.Run(ctx, "echo here"); err != nil || got.Stdout != "here\n" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if err := errors.Join(created.Close(ctx), claimed.Close(ctx)); err != nil {
			t.Error(err)
		}
	}
}

func TestSuspendedSandbox(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	ctx := t.Context()
	_, box := w.create(t, sandbox.Options{})
	if err := box.Write(ctx, "kept", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Suspend(ctx); err != nil {
		t.Fatal(err)
	}
	other, err := w.client(t, sandbox.Options{}).GetSandbox(ctx, box.ClaimName(), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Disconnect(ctx)
	if _, err := other.Read(ctx, "kept"); !sandbox.IsReason(err, sandbox.Suspended) {
		t.Errorf("got %v", err)
	}
	if _, err := other.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := box.Read(ctx, "kept"); string(got) != "kept" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
