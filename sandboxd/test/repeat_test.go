package test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

func TestARepeatedRequestIsRefusedAfterARestart(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	// Longer ago than this daemon runs.
	ctx, info := connect.NewClientContext(timeLimited(t))
	info.RequestHeader().Set("X-Request-Age", "3600000")
	execute := &processv1.ExecuteRequest{Config: shell("echo x >> runs"), RequestId: "id"}
	_, err := b.client.Execute(ctx, execute)
	wantCode(t, err, connect.CodeAborted)
	begin, err := b.client.Start(ctx, &processv1.StartRequest{Config: shell("echo x >> runs"), Detach: true, RequestId: "id"})
	if err == nil {
		begin.Receive()
		err = begin.Err()
	}
	wantCode(t, err, connect.CodeAborted)
	if _, err := os.Stat(b.file("runs")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command ran: %v", err)
	}
	// This daemon knows the result of a request that it has executed.
	if _, err := b.client.Execute(timeLimited(t), execute); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.Execute(ctx, execute); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAnAbandonedProcessIsKilled(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx, leave := context.WithCancel(timeLimited(t))
	request := &processv1.StartRequest{Config: shell("sleep 1000 & sleep 1000"), Detach: true, AbandonAfter: durationpb.New(300 * time.Millisecond)}
	abandoned := b.begin(ctx, request)
	read := b.begin(timeLimited(t), request)
	leave()
	eventually(t, "the end of the process that nobody reads", func() bool {
		list, err := b.client.List(timeLimited(t), &processv1.ListRequest{})
		return err == nil && slices.ContainsFunc(list.Processes, func(p *processv1.ProcessInfo) bool {
			return p.ProcessId == abandoned.id && p.Exit.GetSignal() == int32(syscall.SIGKILL)
		})
	})
	shortly, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	got, err := b.client.Wait(shortly, &processv1.WaitRequest{ProcessId: read.id})
	if err == nil {
		t.Errorf("a process that is read has ended: %v", got)
	}
	for _, invalid := range []*processv1.StartRequest{
		{Config: shell("true"), AbandonAfter: durationpb.New(time.Second)},
		{Config: shell("true"), Detach: true, AbandonAfter: durationpb.New(-time.Second)},
	} {
		wantCode(t, b.startError(invalid), connect.CodeInvalidArgument)
	}
}

func TestRequestIDsOfTheRESTAPI(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("a", "content").wantStatus(t, 204)
	send := func(method, path, body, id, age string) answer {
		header := map[string]string{"X-Request-ID": id, "X-Request-Age": age}
		return b.do(request{method: method, url: b.rest + path, body: strings.NewReader(body), header: header})
	}
	move := `{"from": "a", "to": "b"}`
	send("POST", "/v1/fs/move", move, "1", "").wantStatus(t, 204)
	send("POST", "/v1/fs/move", move, "1", "10").wantStatus(t, 204)
	send("POST", "/v1/fs/move", move, "2", "").wantCode(t, 404, "NOT_FOUND")
	send("DELETE", "/v1/files/b", "", "3", "").wantStatus(t, 204)
	send("DELETE", "/v1/files/b", "", "3", "10").wantStatus(t, 204)
	send("DELETE", "/v1/files/b", "", "4", "").wantCode(t, 404, "NOT_FOUND")
	send("POST", "/v1/fs/mkdir", `{"path": "d"}`, "5", "3600000").wantCode(t, 409, "OUTCOME_UNKNOWN")
	if _, err := os.Stat(b.file("d")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was created: %v", err)
	}
	send("POST", "/v1/fs/mkdir", strings.Repeat(" ", 5<<20), "6", "").wantCode(t, 413, "TOO_LARGE")
}
