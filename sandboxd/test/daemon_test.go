package test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1/processv1connect"
)

func plain(t *testing.T, url string, header map[string]string) int {
	t.Helper()
	built, _ := http.NewRequest("GET", url, nil)
	for name, value := range header {
		built.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(built)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// The reference implementation needs no token.
func TestRequestsNeedTheToken(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for name, header := range map[string]map[string]string{
		"nothing": {}, "empty": {"X-Sandbox-Token": ""}, "wrong": {"X-Sandbox-Token": tokenText + "x"}, "prefix": {"X-Sandbox-Token": tokenText[:20]},
		"basic": {"Authorization": "Basic " + tokenText}, "wrong bearer": {"Authorization": "Bearer " + strings.ToUpper(tokenText)},
		"wrong one beside the right one": {"X-Sandbox-Token": "no", "Authorization": "Bearer " + tokenText},
	} {
		for _, url := range []string{b.rest + "/v1/files/", b.rest + "/v1/metadata", b.rest + "/", b.legacy + "/list/", b.grpc + "/process.v1.ProcessService/List", b.rest + "/v1/health/x"} {
			if status := plain(t, url, header); status != 401 {
				t.Errorf("%s: %s answers %d", name, url, status)
			}
		}
	}
	for _, header := range []map[string]string{{"X-Sandbox-Token": tokenText}, {"Authorization": "Bearer " + tokenText}, {"Authorization": "bearer " + tokenText}, {"X-Sandbox-Token": tokenText, "Authorization": "Bearer of-the-workload"}} {
		if status := plain(t, b.rest+"/v1/files/", header); status != 200 {
			t.Errorf("%v is refused with %d", header, status)
		}
	}
	for _, url := range []string{b.rest + "/v1/health", b.legacy + "/"} {
		if status := plain(t, url, nil); status != 200 {
			t.Errorf("%s answers %d", url, status)
		}
	}
	for _, client := range []processv1connect.ProcessServiceClient{
		processv1connect.NewProcessServiceClient(h2c(), b.grpc, connect.WithGRPC()),
		processv1connect.NewProcessServiceClient(h2c(), b.grpc, connect.WithGRPCWeb()),
		processv1connect.NewProcessServiceClient(authenticated(h2c(), "wrong"), b.grpc),
	} {
		_, err := client.List(timeLimited(t), &processv1.ListRequest{})
		wantCode(t, err, connect.CodeUnauthenticated)
	}
}

func TestATokenThatChanges(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	file := filepath.Join(filepath.Dir(b.root), "token")
	next := file + ".next"
	if err := os.WriteFile(next, []byte("another-token-of-enough-length"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new token", func() bool {
		return plain(t, b.rest+"/v1/files/", map[string]string{"X-Sandbox-Token": "another-token-of-enough-length"}) == 200
	})
	if status := plain(t, b.rest+"/v1/files/", map[string]string{"X-Sandbox-Token": tokenText}); status != 401 {
		t.Errorf("the old token answers %d", status)
	}
}

func failing(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err == nil {
		t.Errorf("%v succeeds", args)
	}
	return string(output)
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	short := filepath.Join(dir, "short")
	_ = os.WriteFile(short, []byte("short"), 0o600)
	for want, args := range map[string][]string{
		"without a token":       {"run"},
		"16 to 4096":            {"run", "--token-file=" + short},
		"no such file":          {"run", "--token-file=" + dir + "/none"},
		"--rest-port=0":         {"run", "--insecure-no-token", "--rest-port=0"},
		"for both":              {"run", "--insecure-no-token", "--rest-port=9090"},
		"empty --root-dir":      {"run", "--insecure-no-token", "--root-dir="},
		"not defined":           {"run", "--nonsense"},
		`--restart="sometimes"`: {"run", "--insecure-no-token", "--restart=sometimes"},
		"want run, install":     {"frobnicate"},
		"want one directory":    {"install"},
		`as "no such user"`:     {"run", "--insecure-no-token", "--user=no such user"},
	} {
		if got := failing(t, program, args...); !strings.Contains(got, want) {
			t.Errorf("%v says %q, want %q", args, got, want)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	got := failing(t, program, "run", "--insecure-no-token", "--root-dir="+dir, "--listen-host=127.0.0.1", fmt.Sprintf("--grpc-port=%d", port), "--socket="+dir+"/s")
	if !strings.Contains(got, "cannot listen on port") {
		t.Errorf("it says %q", got)
	}
}

func TestInstallVersionHelp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if output, err := exec.Command(program, "install", dir).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", output, err)
		}
	}
	entries, _ := os.ReadDir(dir)
	info, err := os.Stat(filepath.Join(dir, "sandboxd"))
	if err != nil || info.Mode().Perm() != 0o755 || len(entries) != 1 {
		t.Fatalf("installed %v, %v", entries, err)
	}
	for want, args := range map[string][]string{"sandboxd dev\n": {"version"}, "Usage:": {"--help"}, "-root-dir": {"run", "--help"}} {
		output, err := exec.Command(filepath.Join(dir, "sandboxd"), args...).CombinedOutput()
		if err != nil || !strings.Contains(string(output), want) {
			t.Errorf("%v gives %s, %v", args, output, err)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{env: []string{"SANDBOX_A=1", "SANDBOX_API_KEY=2", "SANDBOX_my_token=3", "OTHER=4", "SANDBOX_BASE_DIR=/x"}})
	b.get(b.rest+"/v1/metadata").want(t, 200, `{"env":{"SANDBOX_A":"1","SANDBOX_BASE_DIR":"/x"}}`)
}

func exitCode(b *box) int {
	<-b.stopped
	return b.command.ProcessState.ExitCode()
}

func TestTheCommandsExitCodeIsPassedOn(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"sleep 0.3; exit 7": 7, "sleep 0.3; kill -9 $$": 137} {
		b := start(t, boxOptions{command: []string{"sh", "-c", script}})
		if got := exitCode(b); got != want {
			t.Errorf("%q gives %d, want %d: %s", script, got, want, b.stderr.String())
		}
	}
	for program, want := range map[string]int{"/no/such/program": 127, "/etc/passwd": 126} {
		if got := quickExit(t, program); got != want {
			t.Errorf("%s gives %d, want %d", program, got, want)
		}
	}
}

func quickExit(t *testing.T, command ...string) int {
	t.Helper()
	dir := t.TempDir()
	ports := freePorts(t, 3)
	args := []string{"run", "--insecure-no-token", "--listen-host=127.0.0.1", "--rest-port=" + ports[0], "--legacy-port=" + ports[1], "--grpc-port=" + ports[2], "--root-dir=" + dir, "--socket=" + dir + "/s", "--"}
	process := exec.Command(program, append(args, command...)...)
	_ = process.Run()
	return process.ProcessState.ExitCode()
}

func TestSignalsReachTheCommand(t *testing.T) {
	t.Parallel()
	script := `trap 'echo hup > hup' HUP; trap 'echo term > term; exit 9' TERM; echo > ready; while :; do sleep 0.02; done`
	dir := t.TempDir()
	b := start(t, boxOptions{command: []string{"sh", "-c", "cd " + dir + "; " + script}})
	there := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	}
	eventually(t, "the command", there("ready"))
	_ = b.command.Process.Signal(syscall.SIGHUP)
	eventually(t, "HUP", there("hup"))
	_ = b.command.Process.Signal(syscall.SIGTERM)
	if got := exitCode(b); got != 9 || !there("term")() {
		t.Errorf("it ended with %d", got)
	}
}

func TestRestartPolicies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, boxOptions{flags: []string{"--restart=on-failure"}, command: []string{"sh", "-c", "echo x >> " + dir + "/runs; [ $(wc -l < " + dir + "/runs) -lt 3 ] && exit 1; exit 0"}})
	if got := exitCode(b); got != 0 {
		t.Errorf("it ended with %d", got)
	}
	if runs, _ := os.ReadFile(dir + "/runs"); string(runs) != "x\nx\nx\n" {
		t.Errorf("it ran %q", runs)
	}
	always := start(t, boxOptions{flags: []string{"--restart=always"}, command: []string{"sh", "-c", "echo y >> " + dir + "/always; exit 0"}})
	eventually(t, "the third run", func() bool { runs, _ := os.ReadFile(dir + "/always"); return bytes.Count(runs, []byte("y")) >= 3 })
	_ = always.command.Process.Signal(syscall.SIGTERM)
	exitCode(always)
}

// As process 1 it waits for orphans, does not lose exit codes of children, and ends everything with it.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{
		attr:    &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS},
		wrap:    []string{"sh", "-c", `mount -t proc proc /proc && exec "$@"`, "sh"},
		command: []string{"sleep", "1000"},
	})
	ctx := timeLimited(t)
	for code := range 20 {
		got, err := b.client.Execute(ctx, &processv1.ExecuteRequest{Config: shell(fmt.Sprintf("(sleep 0.01 &) ; (setsid true &); exit %d", code))})
		if err != nil || got.ExitCode != int32(code) {
			t.Fatalf("got %v, %v, want %d", got, err, code)
		}
	}
	zombies := "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '"
	eventually(t, "the last zombie", func() bool {
		got, err := b.client.Execute(ctx, &processv1.ExecuteRequest{Config: shell(zombies)})
		return err == nil && string(got.Stdout) == "0\n"
	})
	got, err := b.client.Execute(ctx, &processv1.ExecuteRequest{Config: shell("cat /proc/1/comm; setsid sleep 987 >/dev/null 2>&1 &")})
	if err != nil || string(got.Stdout) != "sandboxd\n" {
		t.Errorf("process 1 is %q, %v", got.GetStdout(), err)
	}
	_ = b.command.Process.Signal(syscall.SIGTERM)
	exitCode(b)
	left, _ := exec.Command("pgrep", "-f", "^sleep 987$").Output()
	if len(left) > 0 {
		t.Errorf("a process outlived process 1: %s", left)
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx := timeLimited(t)
	polite := b.begin(ctx, &processv1.StartRequest{Config: shell(`trap 'echo bye; exit 6' TERM; echo ready; while :; do sleep 0.02; done`)})
	polite.until("ready\n")
	stubborn := b.begin(ctx, &processv1.StartRequest{Config: shell(`trap '' TERM; echo $$; while :; do sleep 0.02; done`)})
	pid := stubborn.pids(1)
	_ = b.command.Process.Signal(syscall.SIGTERM)
	eventually(t, "the red health", func() bool {
		response, err := http.Get(b.rest + "/v1/health")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var body bytes.Buffer
		_, _ = body.ReadFrom(response.Body)
		return response.StatusCode == 503 && body.String() == `{"code":"UNAVAILABLE","message":"sandboxd is shutting down"}`
	})
	if exit := polite.finish(); exit.ExitCode != 6 || !strings.HasSuffix(polite.stdout.String(), "bye\n") {
		t.Errorf("the polite process ended with %v, %q", exit, polite.stdout.String())
	}
	if exit := stubborn.finish(); exit.GetSignal() != 9 {
		t.Errorf("the stubborn process ended with %v", exit)
	}
	if code := exitCode(b); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	wantDead(t, pid)
}

// Neither a command that ignores SIGTERM nor a response that is not read delays a shutdown beyond its timeout.
func TestShutdownHasATimeout(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{flags: []string{"--shutdown-timeout=3s"}, command: []string{"sh", "-c", `trap '' TERM; while :; do sleep 0.05; done`}})
	file, err := os.Create(b.file("endless"))
	if err != nil || file.Truncate(1<<40) != nil {
		t.Fatal(err)
	}
	file.Close()
	unread, err := net.Dial("tcp", strings.TrimPrefix(b.rest, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	fmt.Fprintf(unread, "GET /v1/files/endless HTTP/1.1\r\nHost: x\r\nX-Sandbox-Token: %s\r\n\r\n", tokenText)
	if _, err := unread.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = b.command.Process.Signal(syscall.SIGTERM)
	if code := exitCode(b); code != 137 {
		t.Errorf("it ended with %d: %s", code, b.stderr.String())
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{flags: []string{"--http-idle-timeout=200ms"}})
	for _, url := range []string{b.rest, b.legacy} {
		idle, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = idle.SetDeadline(time.Now().Add(15 * time.Second))
		fmt.Fprint(idle, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if answer, err := io.ReadAll(idle); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
			t.Errorf("%s says %q, %v", url, answer, err)
		}
		idle.Close()
	}
}

func TestFlagsOfOlderManifestsAreAccepted(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{flags: []string{"--zap-log-level=info", "--zap-encoder=json", "--zap-devel", "--zap-stacktrace-level=error", "--zap-time-encoding=iso8601"}})
	eventually(t, "a line of the log", func() bool { return strings.Contains(b.stderr.String(), `"msg":"serving"`) })
}
