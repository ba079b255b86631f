package lifecycle

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/environment"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/gate"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

// children is shared: two reapers in one process would take each other's children.
var children = sync.OnceValue(func() *reaper.Reaper { return reaper.New(false) })

type sandbox struct {
	*Lifecycle
	t   *testing.T
	dir string
	log *bytes.Buffer
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	dir := t.TempDir()
	root, err := confine.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	known, err := environment.Open(filepath.Join(dir, "environment"), token.Identity{Name: "source", UID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, dir: dir, log: &bytes.Buffer{}}
	shut := new(gate.Gate)
	processes := process.NewManager(process.Options{Reaper: children(), Root: root, Env: os.Environ, Gate: shut})
	s.Lifecycle = New(Options{Environment: known, Processes: processes, Gate: shut, HooksDir: filepath.Join(dir, "hooks"), Log: s.log})
	t.Cleanup(func() {
		s.Abandon()
		for _, p := range processes.List() {
			p.KillTree()
		}
	})
	return s
}

func (s *sandbox) file(name, content string, mode os.FileMode) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) want(event string, want Report) {
	s.t.Helper()
	got, known := s.Handle(event)
	if !known || got.Epoch != want.Epoch || got.Processes != want.Processes || got.Expired != want.Expired || !slices.Equal(got.Failures, want.Failures) {
		s.t.Errorf("%s: got %+v, want %+v", event, got, want)
	}
}

func (s *sandbox) start() *process.Process {
	s.t.Helper()
	p, err := s.Processes.Start(process.Spec{Argv: []string{"sleep", "1000"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func TestProcessesContinueWhenTheNodeForgetsThem(t *testing.T) {
	s := newSandbox(t)
	s.stoppedTime = 10 * time.Millisecond
	s.start()
	s.want(BeforeSnapshot, Report{Processes: 1})
	// It starts only when the others continue.
	s.start()
	s.want(AfterSnapshot, Report{Expired: true})
	s.want(AfterSnapshot, Report{})
}

func TestAForkWhoseNodeForgetsIt(t *testing.T) {
	s := newSandbox(t)
	s.stoppedTime = 10 * time.Millisecond
	s.file("hooks/after-fork", "#!/bin/sh\necho $SANDBOX_NAME\n", 0o755)
	s.file("environment", "SANDBOX_NAME=fork\nSANDBOX_UID=2\nSANDBOX_EPOCH=1\n", 0o644)
	s.start()
	s.want(BeforeSnapshot, Report{Processes: 1})
	for s.Environment.Identity().Name != "fork" {
		time.Sleep(time.Millisecond)
	}
	s.want(AfterFork, Report{Epoch: 1, Expired: true})
	if s.log.String() != "fork\n" {
		t.Errorf("the hook wrote %q", s.log)
	}
}

func TestEventsCanBeRepeated(t *testing.T) {
	s := newSandbox(t)
	s.start()
	s.want(AfterSnapshot, Report{})
	s.want(BeforeSnapshot, Report{Processes: 1})
	s.want(BeforeSnapshot, Report{Processes: 1})
	s.want(AfterSnapshot, Report{Processes: 1})
	s.want(AfterSnapshot, Report{})
	if _, known := s.Handle("before-lunch"); known {
		t.Error("an unknown event was handled")
	}
}

func TestWhenHooksRun(t *testing.T) {
	s := newSandbox(t)
	for _, hook := range []string{BeforeSuspend, AfterResume, AfterFork} {
		s.file("hooks/"+hook, "#!/bin/sh\necho $(basename $0) $SANDBOX_EPOCH\n", 0o755)
	}
	ran := func(event, output string) {
		t.Helper()
		s.log.Reset()
		_, _ = s.Handle(event)
		if s.log.String() != output {
			t.Errorf("%s: the hooks wrote %q, want %q", event, s.log, output)
		}
	}
	ran(AfterResume, "")
	ran(BeforeSuspend, "before-suspend 0\n")
	// Saving failed, and the sandbox goes on.
	ran(AfterResume, "after-resume 0\n")
	ran(BeforeSuspend, "before-suspend 0\n")
	s.file("environment", "SANDBOX_EPOCH=1\n", 0o644)
	ran(AfterResume, "after-resume 1\n")
	ran(AfterResume, "")
	ran(AfterFork, "")
	ran(BeforeSnapshot, "")
	ran(AfterSnapshot, "")
	// A rollback.
	s.file("environment", "SANDBOX_EPOCH=2\n", 0o644)
	ran(AfterFork, "after-fork 2\n")
	ran(AfterFork, "")
}

func TestHooksThatFail(t *testing.T) {
	for name, row := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"none":                      {nil, nil},
		"a file":                    {map[string]string{"before-suspend": "exit 3"}, []string{`hook "before-suspend" failed: exit status 3`}},
		"a signal":                  {map[string]string{"before-suspend": "kill -9 $$"}, []string{`hook "before-suspend" failed: ended by signal 9`}},
		"one of a folder":           {map[string]string{"before-suspend/1": "exit 1", "before-suspend/2": "echo 2"}, []string{`hook "before-suspend/1" failed: exit status 1`}},
		"too slow, and all after":   {map[string]string{"before-suspend/1": "sleep 1000 & sleep 1000", "before-suspend/2": ""}, []string{`hook "before-suspend/1" failed: killed after the limit of 200ms`, `hook "before-suspend/2" failed: the time of the hook is over`}},
		"hidden and plain files":    {map[string]string{"before-suspend/.1": "exit 1", "before-suspend/not-2": "exit 1"}, nil},
		"a file without permission": {map[string]string{"not-before-suspend": "exit 1"}, []string{`cannot run hook "before-suspend": it is not an executable file`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			s.hookTime = 200 * time.Millisecond
			if name != "too slow, and all after" {
				s.hookTime = hookTime
			}
			for file, script := range row.files {
				mode := os.FileMode(0o755)
				if strings.Contains(file, "not-") {
					file, mode = strings.ReplaceAll(file, "not-", ""), 0o644
				}
				s.file("hooks/"+file, "#!/bin/sh\n"+script+"\n", mode)
			}
			report, _ := s.Handle(BeforeSuspend)
			for i := range report.Failures {
				report.Failures[i] = strings.ReplaceAll(report.Failures[i], s.dir+"/hooks/", "")
			}
			if !slices.Equal(report.Failures, row.want) {
				t.Errorf("got %q, want %q", report.Failures, row.want)
			}
		})
	}
}

func TestTheOutputOfAHookIsBounded(t *testing.T) {
	s := newSandbox(t)
	s.file("hooks/before-suspend", "#!/bin/sh\nhead -c 10000000 /dev/zero\n", 0o755)
	s.want(BeforeSuspend, Report{})
	if s.log.Len() != maxHookOutput {
		t.Errorf("%d bytes are in the log", s.log.Len())
	}
}

func TestAFolderWithTooManyExecutables(t *testing.T) {
	s := newSandbox(t)
	for i := range maxExecutables + 1 {
		s.file("hooks/before-suspend/"+strings.Repeat("x", i+1), "#!/bin/sh\n", 0o755)
	}
	s.want(BeforeSuspend, Report{Failures: []string{`cannot run hook "before-suspend": it has more than 64 executables`}})
}

func TestTheMachineID(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range map[string]string{"id": "0123456789abcdef0123456789abcdef0123456789\n", "empty": "", "elsewhere": "kept"} {
		if err := os.WriteFile(path(name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("elsewhere", path("link")); err != nil {
		t.Fatal(err)
	}
	refresh := func(uid string) string {
		t.Helper()
		if failures := refreshMachineID([]string{path("id"), path("empty"), path("link"), path("missing")}, uid); failures != nil {
			t.Errorf("got %v", failures)
		}
		content, _ := os.ReadFile(path("id"))
		return string(content)
	}
	first, second := refresh("a"), refresh("b")
	if len(first) != 33 || first == second || refresh("a") != first {
		t.Errorf("got %q and %q", first, second)
	}
	for name, want := range map[string]string{"empty": "", "elsewhere": "kept"} {
		if content, _ := os.ReadFile(path(name)); string(content) != want {
			t.Errorf("%s has %q", name, content)
		}
	}
	if failures := refreshMachineID([]string{dir}, "a"); len(failures) != 1 {
		t.Errorf("a directory gives %v", failures)
	}
}
