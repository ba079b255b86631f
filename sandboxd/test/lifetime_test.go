package test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// treeScript starts a shell with a grandchild in another session, and prints their process ids.
const treeScript = `setsid sh -c 'echo $$; (setsid sleep 300 & echo $!); sleep 300' & echo $$; sleep 300`

func (r *run) pids(n int) []int {
	r.t.Helper()
	for strings.Count(r.stdout.String(), "\n") < n {
		if !r.next() {
			r.t.Fatalf("the stream ended: %v", r.stream.Err())
		}
	}
	var pids []int
	for line := range strings.Lines(r.stdout.String()) {
		pids = append(pids, number(r.t, line))
	}
	return pids
}

func wantDead(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return !alive(pid) })
	}
}

func TestTheWholeTreeDies(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	t.Run("when the stream is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		r := b.begin(ctx, &processv1.StartRequest{Config: shell(treeScript)})
		pids := r.pids(3)
		cancel()
		wantDead(t, pids)
	})
	t.Run("on a timeout", func(t *testing.T) {
		config := shell(treeScript)
		config.Timeout = durationpb.New(700 * time.Millisecond)
		r := b.begin(timeLimited(t), &processv1.StartRequest{Config: config})
		pids := r.pids(3)
		if exit := r.finish(); !exit.TimedOut || exit.GetSignal() != 9 {
			t.Errorf("got %v", exit)
		}
		wantDead(t, pids)
	})
	t.Run("on request", func(t *testing.T) {
		r := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell(treeScript)})
		pids := r.pids(3)
		_, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: r.id, Signal: processv1.Signal_SIGNAL_SIGKILL, Scope: processv1.SignalScope_SIGNAL_SCOPE_TREE})
		if err != nil {
			t.Fatal(err)
		}
		wantDead(t, pids)
	})
	t.Run("at the deadline of a call", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
		defer cancel()
		_, err := b.client.Execute(ctx, &processv1.ExecuteRequest{Config: shell("exec >" + b.file("pids") + ";" + treeScript)})
		wantCode(t, err, connect.CodeDeadlineExceeded)
		var pids []int
		for line := range strings.Lines(b.read("pids")) {
			pids = append(pids, number(t, line))
		}
		if len(pids) != 3 {
			t.Fatalf("found %v", pids)
		}
		wantDead(t, pids)
	})
}

func TestTheWholeTreeOfAnotherUserDies(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{wrap: containerRights})
	ctx, cancel := context.WithCancel(context.Background())
	config := shell(treeScript)
	config.User = "65534"
	r := b.begin(ctx, &processv1.StartRequest{Config: config})
	pids := r.pids(3)
	cancel()
	wantDead(t, pids)
}

func TestDetachedProcessesOutliveTheirStream(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	r := b.begin(ctx, &processv1.StartRequest{Config: shell("echo one; read line; echo $line >&2; echo two; exit 5"), Detach: true})
	r.until("one\n")
	at := r.last
	cancel()
	list, err := b.client.List(timeLimited(t), &processv1.ListRequest{})
	if err != nil || len(list.Processes) != 1 || !list.Processes[0].Detached || list.Processes[0].Exit != nil || list.Processes[0].Origin != "start" {
		t.Fatalf("list is %v, %v", list, err)
	}
	attach := func(request *processv1.AttachRequest) *run {
		request.ProcessId = r.id
		stream, err := b.client.Attach(timeLimited(t), request)
		if err != nil {
			t.Fatal(err)
		}
		return opened(t, stream)
	}
	second := attach(&processv1.AttachRequest{})
	second.until("one\n")
	_, err = b.client.WriteStdin(timeLimited(t), &processv1.WriteStdinRequest{ProcessId: r.id, Payload: &processv1.WriteStdinRequest_Input{Input: []byte("typed\n")}})
	if err != nil {
		t.Fatal(err)
	}
	waited, err := b.client.Wait(timeLimited(t), &processv1.WaitRequest{ProcessId: r.id})
	if err != nil || waited.Exit.ExitCode != 5 {
		t.Errorf("wait gives %v, %v", waited, err)
	}
	second.finish()
	if second.stdout.String() != "one\ntwo\n" || second.stderr.String() != "typed\n" {
		t.Errorf("the second reader got %q, %q", second.stdout.String(), second.stderr.String())
	}
	// After its end, from where the first reader stopped.
	third := attach(&processv1.AttachRequest{FromOffset: &at})
	if exit := third.finish(); third.stdout.String() != "two\n" || exit.ExitCode != 5 {
		t.Errorf("the third reader got %q, %v", third.stdout.String(), exit)
	}
	_, err = b.client.Attach(timeLimited(t), &processv1.AttachRequest{ProcessId: 77})
	if err == nil {
		stream, _ := b.client.Attach(timeLimited(t), &processv1.AttachRequest{ProcessId: 77})
		for stream.Receive() {
		}
		err = stream.Err()
	}
	wantCode(t, err, connect.CodeNotFound)
}

func TestReplayIsBoundedAndTellsTheGap(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("head -c 3000000 /dev/zero; echo end"), Detach: true})
	r.finish()
	if r.stdout.Len() != 3000004 || r.lost != 0 {
		t.Errorf("the first reader got %d bytes and lost %d", r.stdout.Len(), r.lost)
	}
	stream, err := b.client.Attach(timeLimited(t), &processv1.AttachRequest{ProcessId: r.id, FromOffset: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	late := opened(t, stream)
	late.finish()
	if late.lost == 0 || late.lost+uint64(late.stdout.Len()) != 3000004 || !strings.HasSuffix(late.stdout.String(), "end\n") || late.stdout.Len() > 256<<10 {
		t.Errorf("a late reader lost %d and got %d bytes", late.lost, late.stdout.Len())
	}
}

func TestRequestIDsRunOnce(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx := timeLimited(t)
	execute := &processv1.ExecuteRequest{Config: shell("echo x >> runs; wc -l < runs"), RequestId: "id-1"}
	results := make(chan string, 8)
	for range 8 {
		go func() {
			got, err := b.client.Execute(ctx, execute)
			results <- fmt.Sprintf("%s %v", got.GetStdout(), err)
		}()
	}
	for range 8 {
		if got := <-results; got != "1\n <nil>" {
			t.Errorf("got %q", got)
		}
	}
	// The same id with another request is another call.
	other, err := b.client.Execute(ctx, &processv1.ExecuteRequest{Config: shell("echo other"), RequestId: "id-1"})
	if err != nil || string(other.Stdout) != "other\n" {
		t.Errorf("got %v, %v", other, err)
	}
	begin := &processv1.StartRequest{Config: shell("echo y >> starts; cat starts"), Detach: true, RequestId: "id-2"}
	first := b.begin(ctx, begin)
	first.finish()
	second := b.begin(ctx, begin)
	if second.finish(); second.id != first.id || second.stdout.String() != "y\n" {
		t.Errorf("the second start is process %d with %q", second.id, second.stdout.String())
	}
}

func TestExecuteIsVisibleWhileItRuns(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	result := make(chan *processv1.ExecuteResponse, 1)
	go func() {
		got, _ := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("sleep 100")})
		result <- got
	}()
	var id int32
	eventually(t, "the process in the list", func() bool {
		list, err := b.client.List(timeLimited(t), &processv1.ListRequest{})
		if err != nil || len(list.Processes) != 1 {
			return false
		}
		id = list.Processes[0].ProcessId
		return list.Processes[0].Origin == "execute"
	})
	_, err := b.client.WriteStdin(timeLimited(t), &processv1.WriteStdinRequest{ProcessId: id, Payload: &processv1.WriteStdinRequest_Input{Input: []byte("x")}})
	wantCode(t, err, connect.CodeFailedPrecondition)
	if _, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: id, Signal: processv1.Signal_SIGNAL_SIGTERM}); err != nil {
		t.Fatal(err)
	}
	if got := <-result; got.GetSignal() != int32(syscall.SIGTERM) {
		t.Errorf("got %v", got)
	}
}

func TestChunksAreBounded(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{flags: []string{"--stream-chunk-size=100"}})
	stream, err := b.client.Start(timeLimited(t), &processv1.StartRequest{Config: shell("head -c 5000 /dev/zero")})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for stream.Receive() {
		length := len(stream.Msg().GetStdout())
		if total += length; length > 100 {
			t.Errorf("a chunk has %d bytes", length)
		}
	}
	if total != 5000 {
		t.Errorf("got %d bytes", total)
	}
}

func TestOtherProtocolsOnTheSamePort(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.post(b.grpc+"/process.v1.ProcessService/Execute", map[string]any{"config": map[string]any{"command": []string{"echo", "hi"}}}).
		want(t, 200, `{"stdout":"aGkK"}`)
	reflection := b.do(request{method: "POST", url: b.grpc + "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", body: strings.NewReader("")})
	if reflection.status == 404 {
		t.Error("there is no server reflection")
	}
}
