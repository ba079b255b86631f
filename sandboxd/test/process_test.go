package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

type startStream = connect.ServerStreamForClient[processv1.StartResponse]

func shell(script string) *processv1.ProcessConfig {
	return &processv1.ProcessConfig{Command: []string{"/bin/sh", "-c", script}}
}

// run is a process started by a test.
type run struct {
	t      testing.TB
	stream *startStream
	id     int32
	stdout bytes.Buffer
	stderr bytes.Buffer
	exit   *processv1.ExitEvent
	last   uint64
	lost   uint64
}

func (b *box) begin(ctx context.Context, request *processv1.StartRequest) *run {
	b.t.Helper()
	stream, err := b.client.Start(ctx, request)
	if err != nil {
		b.t.Fatal(err)
	}
	return opened(b.t, stream)
}

func opened(t testing.TB, stream *startStream) *run {
	t.Helper()
	if !stream.Receive() || stream.Msg().GetInit() == nil {
		t.Fatalf("the first event is %v, %v", stream.Msg(), stream.Err())
	}
	return &run{t: t, stream: stream, id: stream.Msg().GetInit().ProcessId}
}

// next reads an event. It returns false at the end.
func (r *run) next() bool {
	r.t.Helper()
	if !r.stream.Receive() {
		return false
	}
	message := r.stream.Msg()
	if r.exit != nil {
		r.t.Errorf("an event came after exit: %v", message)
	}
	if message.Offset > 0 {
		r.last = message.Offset
	}
	switch event := message.Event.(type) {
	case *processv1.StartResponse_Stdout:
		r.stdout.Write(event.Stdout)
	case *processv1.StartResponse_Stderr:
		r.stderr.Write(event.Stderr)
	case *processv1.StartResponse_Gap:
		r.lost += event.Gap.LostBytes
	case *processv1.StartResponse_Exit:
		r.exit = event.Exit
	default:
		r.t.Errorf("unexpected event %v", message)
	}
	return true
}

func (r *run) until(text string) {
	r.t.Helper()
	for !strings.Contains(r.stdout.String(), text) {
		if !r.next() {
			r.t.Fatalf("the stream ended with %q, %v", r.stdout.String(), r.stream.Err())
		}
	}
}

func (r *run) finish() *processv1.ExitEvent {
	r.t.Helper()
	for r.next() {
	}
	if err := r.stream.Err(); err != nil || r.exit == nil {
		r.t.Fatalf("the stream ended with %v, %v", err, r.exit)
	}
	return r.exit
}

func wantCode(t *testing.T, err error, code connect.Code) {
	t.Helper()
	if connect.CodeOf(err) != code {
		t.Errorf("got %v, want %v", err, code)
	}
}

func (b *box) startError(request *processv1.StartRequest) error {
	stream, err := b.client.Start(timeLimited(b.t), request)
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
	}
	return stream.Err()
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

func number(t testing.TB, text string) int {
	t.Helper()
	value, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestStartStreamsOutputBetweenInitAndExit(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{env: []string{"OUTER=1"}})
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: &processv1.ProcessConfig{
		Command: []string{"/bin/sh", "-c", "echo out; echo err >&2; echo $OUTER$INNER; pwd; echo $SANDBOXD_TOKEN_FILE; exit 3"},
		EnvVars: map[string]string{"INNER": "2", "OUTER": "3"},
	}})
	exit := r.finish()
	if r.stdout.String() != "out\n32\n"+b.root+"\n\n" || r.stderr.String() != "err\n" || exit.ExitCode != 3 || exit.Signal != nil {
		t.Errorf("got %q, %q, %v", r.stdout.String(), r.stderr.String(), exit)
	}
	_, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: r.id, Signal: processv1.Signal_SIGNAL_SIGTERM})
	wantCode(t, err, connect.CodeNotFound)
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.write("plain", "x")
	cwd := func(dir string) *processv1.ProcessConfig {
		return &processv1.ProcessConfig{Command: []string{"true"}, Cwd: &dir}
	}
	for name, c := range map[string]struct {
		config *processv1.ProcessConfig
		code   connect.Code
	}{
		"nothing":              {nil, connect.CodeInvalidArgument},
		"empty command":        {&processv1.ProcessConfig{}, connect.CodeInvalidArgument},
		"empty program":        {&processv1.ProcessConfig{Command: []string{""}}, connect.CodeInvalidArgument},
		"NUL":                  {&processv1.ProcessConfig{Command: []string{"echo", "a\x00b"}}, connect.CodeInvalidArgument},
		"bad variable":         {&processv1.ProcessConfig{Command: []string{"true"}, EnvVars: map[string]string{"A=B": "1"}}, connect.CodeInvalidArgument},
		"no program":           {&processv1.ProcessConfig{Command: []string{"no-such-program"}}, connect.CodeNotFound},
		"no file":              {&processv1.ProcessConfig{Command: []string{"./missing"}}, connect.CodeNotFound},
		"not executable":       {&processv1.ProcessConfig{Command: []string{"./plain"}}, connect.CodePermissionDenied},
		"cwd missing":          {cwd("missing"), connect.CodeNotFound},
		"cwd is a file":        {cwd("plain"), connect.CodeNotFound},
		"cwd outside":          {cwd("../.."), connect.CodePermissionDenied},
		"unknown user":         {&processv1.ProcessConfig{Command: []string{"true"}, User: "nobody-here"}, connect.CodeInvalidArgument},
		"negative timeout":     {&processv1.ProcessConfig{Command: []string{"true"}, Timeout: durationpb.New(-1)}, connect.CodeInvalidArgument},
		"command and shell":    {&processv1.ProcessConfig{Command: []string{"true"}, Shell: "true"}, connect.CodeInvalidArgument},
		"too long an argument": {&processv1.ProcessConfig{Command: []string{"true", strings.Repeat("x", 1<<20)}}, connect.CodeInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, b.startError(&processv1.StartRequest{Config: c.config}), c.code)
			_, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: c.config})
			wantCode(t, err, c.code)
		})
	}
	wantCode(t, b.startError(&processv1.StartRequest{Config: shell("true"), RequestId: "x"}), connect.CodeInvalidArgument)
}

func TestCwdUserShellAndTerm(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	if err := os.MkdirAll(b.file("sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub", b.file("link")); err != nil {
		t.Fatal(err)
	}
	cwd := "/link"
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{
		Shell: "pwd; id -u; id -g; echo $HOME | cat", Cwd: &cwd, User: "65534:12345",
	}})
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(got.Stdout))
	if len(words) != 4 || words[0] != b.file("sub") || words[1] != "65534" || words[2] != "12345" {
		t.Errorf("got %q, %q", got.Stdout, got.Stderr)
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("cat; echo err >&2; exit 4"), Stdin: []byte("input")})
	if err != nil || got.ExitCode != 4 || string(got.Stdout) != "input" || string(got.Stderr) != "err\n" {
		t.Errorf("got %v, %v", got, err)
	}
	got, err = b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("kill -9 $$")})
	if err != nil || got.ExitCode != -1 || got.GetSignal() != 9 {
		t.Errorf("got %v, %v", got, err)
	}
	got, err = b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("yes | head -c 1000"), MaxOutputBytes: 10})
	if err != nil || string(got.Stdout) != "y\ny\ny\ny\ny\n" || !got.Truncated {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("true"), MaxOutputBytes: 1 << 40})
	wantCode(t, err, connect.CodeInvalidArgument)
}

// The reference implementation waits ten seconds here, then fails and loses all output.
func TestExecuteReturnsWhenABackgroundChildHoldsTheOutput(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("echo done; sleep 100 & echo $! >&2")})
	if err != nil || string(got.Stdout) != "done\n" || !got.DescendantsRunning || got.ExitCode != 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	pid := number(t, string(got.Stderr))
	if !alive(pid) {
		t.Error("the background child was killed")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestStdin(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx := timeLimited(t)
	r := b.begin(ctx, &processv1.StartRequest{Config: shell("cat; echo end")})
	write := func(request *processv1.WriteStdinRequest) error {
		request.ProcessId = r.id
		_, err := b.client.WriteStdin(ctx, request)
		return err
	}
	if err := errors.Join(
		write(&processv1.WriteStdinRequest{Payload: &processv1.WriteStdinRequest_Input{Input: []byte("a")}}),
		write(&processv1.WriteStdinRequest{Payload: &processv1.WriteStdinRequest_Input{}}),
		write(&processv1.WriteStdinRequest{}),
		write(&processv1.WriteStdinRequest{Payload: &processv1.WriteStdinRequest_Eof{Eof: &emptypb.Empty{}}}),
	); err != nil {
		t.Fatal(err)
	}
	if r.finish(); r.stdout.String() != "aend\n" {
		t.Errorf("got %q", r.stdout.String())
	}
	wantCode(t, write(&processv1.WriteStdinRequest{}), connect.CodeNotFound)
}

// A write to a process that does not read ends when the client cancels it.
func TestStdinWriteEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("sleep 100")})
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := b.client.WriteStdin(ctx, &processv1.WriteStdinRequest{ProcessId: r.id, Payload: &processv1.WriteStdinRequest_Input{Input: make([]byte, 1<<20)}})
	wantCode(t, err, connect.CodeDeadlineExceeded)
	// The lock is free again: another write also fails because of the full pipe.
	again, cancelAgain := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancelAgain()
	_, err = b.client.WriteStdin(again, &processv1.WriteStdinRequest{ProcessId: r.id, Payload: &processv1.WriteStdinRequest_Input{Input: make([]byte, 1<<20)}})
	wantCode(t, err, connect.CodeDeadlineExceeded)
}

func TestPTY(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx := timeLimited(t)
	r := b.begin(ctx, &processv1.StartRequest{
		Config: shell(`stty size; echo $TERM; tty >/dev/null && echo tty; while read line; do echo "got $line"; stty size; done; echo eof`),
		Pty:    &processv1.PTY{Cols: 100, Rows: 30},
	})
	r.until("tty\r\n")
	if !strings.HasPrefix(r.stdout.String(), "30 100\r\nxterm-256color\r\n") {
		t.Errorf("the terminal begins with %q", r.stdout.String())
	}
	if _, err := b.client.ResizeTTY(ctx, &processv1.ResizeTTYRequest{ProcessId: r.id, Cols: 70, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	_, err := b.client.WriteStdin(ctx, &processv1.WriteStdinRequest{ProcessId: r.id, Payload: &processv1.WriteStdinRequest_Input{Input: []byte("line\n")}})
	if err != nil {
		t.Fatal(err)
	}
	r.until("got line\r\n")
	r.until("20 70\r\n")
	// This ends the input but not the terminal; later output is still received.
	_, err = b.client.WriteStdin(ctx, &processv1.WriteStdinRequest{ProcessId: r.id, Payload: &processv1.WriteStdinRequest_Eof{Eof: &emptypb.Empty{}}})
	if err != nil {
		t.Fatal(err)
	}
	if exit := r.finish(); exit.ExitCode != 0 || !strings.HasSuffix(r.stdout.String(), "eof\r\n") || r.stderr.Len() > 0 {
		t.Errorf("got %v, %q, %q", exit, r.stdout.String(), r.stderr.String())
	}
}

func TestASignalForAProcessThatHasEnded(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("exit 3"), Detach: true})
	r.finish()
	for _, scope := range []processv1.SignalScope{processv1.SignalScope_SIGNAL_SCOPE_UNSPECIFIED, processv1.SignalScope_SIGNAL_SCOPE_TREE, processv1.SignalScope_SIGNAL_SCOPE_PROCESS} {
		if _, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: r.id, Signal: processv1.Signal_SIGNAL_SIGKILL, Scope: scope}); err != nil {
			t.Errorf("%v gives %v", scope, err)
		}
	}
	_, err := b.client.WriteStdin(timeLimited(t), &processv1.WriteStdinRequest{ProcessId: r.id, Payload: &processv1.WriteStdinRequest_Input{Input: []byte("x")}})
	wantCode(t, err, connect.CodeInternal)
}

func TestResizeWithoutTerminal(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("sleep 100")})
	_, err := b.client.ResizeTTY(timeLimited(t), &processv1.ResizeTTYRequest{ProcessId: r.id, Cols: 1, Rows: 1})
	wantCode(t, err, connect.CodeFailedPrecondition)
	_, err = b.client.ResizeTTY(timeLimited(t), &processv1.ResizeTTYRequest{ProcessId: 99})
	wantCode(t, err, connect.CodeNotFound)
}

func TestSignals(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx := timeLimited(t)
	r := b.begin(ctx, &processv1.StartRequest{Config: shell(`trap 'echo usr1' USR1; sh -c 'trap "echo child; exit" TERM; echo ready; while :; do sleep 0.05; done' & wait; wait`)})
	r.until("ready\n")
	send := func(signal processv1.Signal, scope processv1.SignalScope) error {
		_, err := b.client.SendSignal(ctx, &processv1.SendSignalRequest{ProcessId: r.id, Signal: signal, Scope: scope})
		return err
	}
	wantCode(t, send(processv1.Signal_SIGNAL_UNSPECIFIED, 0), connect.CodeInvalidArgument)
	wantCode(t, send(99, 0), connect.CodeInvalidArgument)
	wantCode(t, send(processv1.Signal_SIGNAL_SIGTERM, 99), connect.CodeInvalidArgument)
	if err := send(processv1.Signal_SIGNAL_SIGUSR1, processv1.SignalScope_SIGNAL_SCOPE_PROCESS); err != nil {
		t.Fatal(err)
	}
	r.until("usr1\n")
	if err := send(processv1.Signal_SIGNAL_SIGTERM, 0); err != nil {
		t.Fatal(err)
	}
	exit := r.finish()
	if exit.ExitCode != -1 || exit.GetSignal() != int32(syscall.SIGTERM) {
		t.Errorf("got %v", exit)
	}
}
