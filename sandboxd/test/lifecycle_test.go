package test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

const forkToken = "the-other-token-of-enough-length"

// sandboxed starts the program as process 1, because otherwise it stops only its own descendants.
func sandboxed(t *testing.T, options boxOptions) *box {
	t.Helper()
	options.attr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
	options.wrap = []string{"sh", "-c", `mount -t proc proc /proc && exec "$@"`, "sh"}
	options.env = append(options.env, "SANDBOXD_SANDBOX_NAME=source", "SANDBOXD_SANDBOX_NAMESPACE=here", "SANDBOXD_SANDBOX_UID=1")
	return start(t, options)
}

type lifecycleReport struct {
	Epoch, Processes int
	Expired          bool
	Failures         []string
}

func (b *box) tell(token, event string) lifecycleReport {
	b.t.Helper()
	got := b.doAs(token, request{method: "POST", url: b.rest + "/v1/lifecycle/" + event})
	got.wantStatus(b.t, 200)
	report := decode[lifecycleReport](b.t, got)
	if len(report.Failures) > 0 {
		b.t.Errorf("%s: %q", event, report.Failures)
	}
	return report
}

// beside is a file outside of the root, such as the token.
func (b *box) beside(name string) string { return filepath.Join(filepath.Dir(b.root), name) }

func (b *box) install(name, content string, mode os.FileMode) {
	b.t.Helper()
	path := b.beside(name)
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	_ = os.Remove(path)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		b.t.Fatal(err)
	}
}

// only waits until this process is the only one below the daemon. The daemon runs a shell when it starts, which can be later than its
// first answer: its processes are numbered, and that shell has a number too.
func (b *box) only(line string) {
	b.t.Helper()
	started := int32(0)
	eventually(b.t, "the shell that the daemon runs first", func() bool {
		run := b.begin(timeLimited(b.t), &processv1.StartRequest{Config: shell("true")})
		run.finish()
		started++
		return run.id > started
	})
	eventually(b.t, "the end of all other processes", func() bool {
		states := b.states()
		return len(states) == 1 && states[line] != ""
	})
}

// becomeFork changes the files as a node does before it restores a fork.
func (b *box) becomeFork() {
	b.install("token", forkToken, 0o400)
	b.install("environment", "SANDBOX_NAME=fork\nSANDBOX_NAMESPACE=here\nSANDBOX_UID=2\nSANDBOX_EPOCH=1\n", 0o644)
}

// states returns the states of the processes below the daemon, by command line.
func (b *box) states() map[string]string {
	states := map[string]string{}
	parents := map[int]int{}
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if fields := stat(pid); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		for above := parents[pid]; above != 0; above = parents[above] {
			if above == b.command.Process.Pid {
				line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
				if fields := stat(pid); len(fields) > 0 && len(line) > 0 {
					states[strings.TrimRight(strings.ReplaceAll(string(line), "\x00", " "), " ")] = fields[0]
				}
			}
		}
	}
	return states
}

// stat returns the fields of /proc/<pid>/stat after the name: state, parent and more.
func stat(pid int) []string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(line[strings.LastIndexByte(string(line), ')')+1:]))
}

func TestASnapshotStopsAllProcessesAndContinuesThem(t *testing.T) {
	t.Parallel()
	b := sandboxed(t, boxOptions{command: []string{"sh", "-c", "sleep 7201; true"}})
	b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("(setsid sleep 7202 &); sleep 7203; true"), Detach: true})
	b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("sleep 7204 & sleep 7205; true"), Detach: true})
	own := []string{"sleep 7201", "sleep 7202", "sleep 7203", "sleep 7204", "sleep 7205"}
	eventually(t, "the start of all processes", func() bool {
		states := b.states()
		for _, line := range own {
			if states[line] == "" {
				return false
			}
		}
		return true
	})
	if _, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("pkill -STOP -f '^sleep 7204'")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stop of one process", func() bool { return b.states()["sleep 7204"] == "T" })
	report := b.tell(tokenText, "before-snapshot")
	states := b.states()
	for line, state := range states {
		if state != "T" {
			t.Errorf("%q is in state %s", line, state)
		}
	}
	if report.Processes != len(states)-1 {
		t.Errorf("%d processes were stopped, of %v", report.Processes, states)
	}
	if again := b.tell(tokenText, "after-snapshot"); again.Processes != report.Processes || again.Expired {
		t.Errorf("got %+v", again)
	}
	// The program in the sandbox had stopped this one itself.
	eventually(t, "the end of the stop", func() bool {
		for line, state := range b.states() {
			if (state == "T") != (line == "sleep 7204") {
				return false
			}
		}
		return true
	})
}

// A shell reports stopped jobs. A snapshot must not be visible to it.
func TestAParentDoesNotNoticeThatItsChildWasStopped(t *testing.T) {
	t.Parallel()
	b := sandboxed(t, boxOptions{})
	parent := `
import os, sys, time
child = os.fork()
if child == 0:
    while not os.path.exists("end"): time.sleep(0.01)
    os._exit(7)
print("ready", flush=True)
_, status = os.waitpid(child, os.WUNTRACED)
print(os.WIFSTOPPED(status), os.WEXITSTATUS(status))`
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: &processv1.ProcessConfig{Command: []string{"python3", "-c", parent}}})
	for !strings.Contains(r.stdout.String(), "ready") && r.next() {
	}
	for range 10 {
		b.tell(tokenText, "before-snapshot")
		b.tell(tokenText, "after-snapshot")
	}
	b.write("end", "")
	r.finish()
	if got := r.stdout.String(); got != "ready\nFalse 7\n" {
		t.Errorf("the parent saw %q", got)
	}
}

func TestRequestsDuringASnapshot(t *testing.T) {
	t.Parallel()
	for name, forked := range map[string]bool{"continue in the source": false, "are refused in a fork": true} {
		t.Run(name, func(t *testing.T) {
			b := sandboxed(t, boxOptions{})
			b.tell(tokenText, "before-snapshot")
			served := make(chan error, 3)
			waiting := func(serve func() error) { go func() { served <- serve() }() }
			get := func(url string) func() error {
				return func() error {
					if status := b.get(url).status; status != 200 {
						return errors.New(strconv.Itoa(status))
					}
					return nil
				}
			}
			waiting(get(b.rest + "/v1/files/"))
			waiting(get(b.legacy + "/list/"))
			waiting(func() error {
				_, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("echo ran > " + b.file("ran"))})
				return err
			})
			// Health checks and the socket for programs inside are served.
			for _, url := range []string{b.rest + "/v1/health", b.legacy + "/"} {
				b.get(url).wantStatus(t, 200)
			}
			if got := b.insideDo("GET", "/v1/epoch"); got != 200 {
				t.Errorf("the epoch inside: %d", got)
			}
			select {
			case err := <-served:
				t.Errorf("a request was answered during the snapshot: %v", err)
			default:
			}
			if forked {
				b.becomeFork()
				b.tell(forkToken, "after-fork")
			} else {
				b.tell(tokenText, "after-snapshot")
			}
			for range 3 {
				if err := <-served; (err != nil) != forked {
					t.Errorf("a request that waited: %v", err)
				}
			}
			if _, err := os.Stat(b.file("ran")); (err != nil) != forked {
				t.Errorf("the command of a request that waited: %v", err)
			}
		})
	}
}

func TestAForkGetsItsIdentityBeforeItsProcessesContinue(t *testing.T) {
	t.Parallel()
	b := sandboxed(t, boxOptions{command: []string{"sleep", "7301"}})
	b.only("sleep 7301")
	b.install("machine-id", "0123456789abcdef0123456789abcdef\n", 0o444)
	b.install("hooks/after-fork/10-state", "#!/bin/sh\ncut -d' ' -f3 /proc/$(pgrep -f '^sleep 7301')/stat; cat "+b.beside("machine-id"), 0o755)
	b.install("hooks/after-fork/20-name", "#!/bin/sh\necho $SANDBOX_NAME $SANDBOX_NAMESPACE $SANDBOX_UID $SANDBOX_EPOCH $SANDBOXD_SANDBOX_NAME\n", 0o755)
	b.tell(tokenText, "before-snapshot")
	b.becomeFork()
	event := request{method: "POST", url: b.rest + "/v1/lifecycle/after-fork"}
	// The token of the source is refused at once.
	b.do(event).wantCode(t, 401, "UNAUTHENTICATED")
	if report := b.tell(forkToken, "after-fork"); report.Epoch != 1 || report.Processes != 1 {
		t.Errorf("got %+v", report)
	}
	eventually(t, "the output of the hooks", func() bool { return strings.Count(b.stderr.String(), "\n") >= 3 })
	lines := strings.Split(b.stderr.String(), "\n")
	if len(lines) < 3 || lines[0] != "T" || len(lines[1]) != 32 || lines[1][:8] == "01234567" || lines[2] != "fork here 2 1 fork" {
		t.Errorf("the hooks wrote %q", lines)
	}
	b.get(b.rest+"/v1/files/").wantStatus(t, 401)
	b.doAs(forkToken, request{method: "GET", url: b.rest + "/v1/epoch"}).want(t, 200, `{"epoch":1,"name":"fork","namespace":"here","uid":"2"}`)
	b.doAs(forkToken, request{method: "GET", url: b.rest + "/v1/files/", header: map[string]string{"X-Sandbox-UID": "1"}}).wantStatus(t, 421)
	eventually(t, "the end of the stop", func() bool { return b.states()["sleep 7301"] == "S" })
	_, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("true")})
	wantCode(t, err, connect.CodeUnauthenticated)
}

// A fork without a valid token must not accept the token of its source, whether it learns that it is a fork or not.
func TestAForkWithoutAToken(t *testing.T) {
	t.Parallel()
	t.Run("with its identity", func(t *testing.T) { forkWithoutToken(t, "SANDBOX_UID=2\nSANDBOX_EPOCH=1\n") })
	t.Run("without its identity", func(t *testing.T) { forkWithoutToken(t, "") })
}

func forkWithoutToken(t *testing.T, identity string) {
	t.Helper()
	t.Parallel()
	b := sandboxed(t, boxOptions{})
	b.install("environment", identity, 0o644)
	b.install("token", "short", 0o400)
	got := b.do(request{method: "POST", url: b.rest + "/v1/lifecycle/after-fork"})
	got.wantStatus(t, 200)
	if !strings.Contains(got.body, "cannot use the sandbox token") {
		t.Errorf("got %s", got.body)
	}
	b.get(b.rest+"/v1/files/").wantStatus(t, 401)
	b.install("token", forkToken, 0o400)
	eventually(t, "the new token", func() bool {
		return b.doAs(forkToken, request{method: "GET", url: b.rest + "/v1/files/"}).status == 200
	})
}

func TestLifecycleEventsNeedTheToken(t *testing.T) {
	t.Parallel()
	b := sandboxed(t, boxOptions{command: []string{"sleep", "7401"}})
	for _, event := range []string{"before-suspend", "after-resume", "before-snapshot", "after-snapshot", "after-fork"} {
		b.doAs("x", request{method: "POST", url: b.rest + "/v1/lifecycle/" + event}).wantCode(t, 401, "UNAUTHENTICATED")
		if got := b.insideDo("POST", "/v1/lifecycle/"+event); got != 404 {
			t.Errorf("inside: %d", got)
		}
	}
	if state := b.states()["sleep 7401"]; state != "S" {
		t.Errorf("the command is in state %q", state)
	}
	b.do(request{method: "POST", url: b.rest + "/v1/lifecycle/before-lunch"}).wantCode(t, 404, "NOT_FOUND")
	b.do(request{method: "GET", url: b.rest + "/v1/lifecycle/before-snapshot"}).wantStatus(t, 405)
	b.get(b.rest+"/v1/epoch").want(t, 200, `{"epoch":0,"name":"source","namespace":"here","uid":"1"}`)
}

// Processes of others than this sandbox are visible to it in a shared process namespace.
func TestOnlyItsOwnProcessesAreStopped(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{command: []string{"sleep", "7501"}})
	b.only("sleep 7501")
	if report := b.tell(tokenText, "before-snapshot"); report.Processes != 1 || b.states()["sleep 7501"] != "T" {
		t.Errorf("got %+v and %v", report, b.states())
	}
}

func TestAnEndDuringASnapshot(t *testing.T) {
	t.Parallel()
	b := sandboxed(t, boxOptions{command: []string{"sh", "-c", "trap 'exit 9' TERM; sleep 7601 & wait"}})
	eventually(t, "the start", func() bool { return b.states()["sleep 7601"] != "" })
	b.tell(tokenText, "before-snapshot")
	_ = b.command.Process.Signal(syscall.SIGTERM)
	if got := exitCode(b); got != 9 {
		t.Errorf("it ended with %d", got)
	}
}
