package rpc

import (
	"context"
	"testing"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/activity"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/gate"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
)

func TestARehearsalRunsACommandThatNobodySees(t *testing.T) {
	root, err := confine.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	processes := process.NewManager(process.Options{
		Reaper: reaper.New(false), Root: root, Env: func() []string { return nil }, Gate: new(gate.Gate),
	})
	tracker := activity.NewTracker()
	service, before := New(processes, tracker, 4096), tracker.Last()
	service.Rehearse(context.Background())
	if tracker.Last() != before {
		t.Error("the rehearsal counts as activity")
	}
	listed, err := service.List(context.Background(), &processv1.ListRequest{})
	if err != nil || len(listed.Processes) != 0 {
		t.Errorf("listed %v, %v", listed, err)
	}
	p, err := processes.Start(process.Spec{Argv: []string{"/bin/true"}, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	p.First.Close()
	<-p.Done()
	// The rehearsal was the first process.
	if p.ID != 2 {
		t.Errorf("the next process has the id %d", p.ID)
	}
}
