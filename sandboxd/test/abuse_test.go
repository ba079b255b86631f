package test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// residentKiB returns the resident memory of the daemon.
func (b *box) residentKiB() int {
	b.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.command.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return number(b.t, strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	b.t.Fatal("no VmRSS")
	return 0
}

func (b *box) wantSmall(mib int) {
	b.t.Helper()
	if underRaceDetector {
		// The race detector needs up to ten times the memory.
		mib *= 10
	}
	if got := b.residentKiB(); got > mib<<10 {
		b.t.Errorf("the daemon has grown to %d KiB, want at most %d MiB", got, mib)
	}
}

// wantWorking checks that all APIs still work and that the abuse left nothing behind.
func (b *box) wantWorking() {
	b.t.Helper()
	b.get(b.rest+"/v1/health").wantStatus(b.t, 200)
	b.put("alive", "x").wantStatus(b.t, 204)
	got, err := b.client.Execute(timeLimited(b.t), &processv1.ExecuteRequest{Config: shell("echo alive")})
	if err != nil || string(got.Stdout) != "alive\n" {
		b.t.Errorf("after the abuse: %v, %v", got, err)
	}
	pid := strconv.Itoa(b.command.Process.Pid)
	eventually(b.t, "the last zombie", func() bool {
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, file := range stats {
			stat, _ := os.ReadFile(file)
			_, rest, _ := strings.Cut(string(stat), ") ")
			if strings.HasPrefix(rest, "Z "+pid+" ") {
				return false
			}
		}
		return true
	})
}

// pidLimit creates a control group for at most n processes, with either cgroup version.
func pidLimit(t *testing.T, n int) (join string) {
	t.Helper()
	name := fmt.Sprintf("sandboxd-test-%d-%d", os.Getpid(), rand.Uint32())
	for _, base := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		dir := filepath.Join(base, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			eventually(t, "the empty control group", func() bool { return os.Remove(dir) == nil })
		})
		if os.WriteFile(filepath.Join(dir, "pids.max"), []byte(strconv.Itoa(n)), 0o644) == nil {
			return filepath.Join(dir, "cgroup.procs")
		}
	}
	t.Fatal("no control group for processes can be made here")
	return ""
}

func TestForkBomb(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"of the daemon's user": nil, "of another user": {fmt.Sprintf("--user=%d", nobody)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			survivesForkBomb(t, flags)
		})
	}
}

func survivesForkBomb(t *testing.T, flags []string) {
	join := pidLimit(t, 200)
	enter := `echo $$ > "$0" 2>/dev/null; echo 0 > "$0"; mount -t proc proc /proc && exec ` + strings.Join(containerRights, " ") + ` "$@"`
	b := start(t, boxOptions{
		attr:  &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS},
		wrap:  []string{"sh", "-c", enter, join},
		flags: flags,
		env:   []string{"PATH=/usr/bin:/bin"},
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	bomb := make(chan error, 1)
	go func() {
		// Unlike a shell, this continues if fork fails. The pause leaves the processors to other tests.
		_, err := b.client.Execute(ctx, &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{
			Command: []string{"python3", "-c", "import os, time\nwhile True:\n  try: os.fork()\n  except OSError: time.sleep(0.01)"},
		}})
		bomb <- err
	}()
	// While the bomb uses up all processes, requests that need no process still work.
	for refused := 0; refused < 20; {
		b.get(b.rest+"/v1/health").wantStatus(t, 200)
		b.put("during", "x").wantStatus(t, 204)
		_, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{Command: []string{"true"}}})
		if connect.CodeOf(err) == connect.CodeResourceExhausted {
			refused++
		}
		select {
		case err := <-bomb:
			t.Fatalf("the bomb ended: %v", err)
		default:
		}
	}
	cancel()
	wantCode(t, <-bomb, connect.CodeCanceled)
	eventually(t, "room for processes", func() bool {
		got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("ls -d /proc/[0-9]* | wc -l")})
		return err == nil && number(t, string(got.Stdout)) < 10
	})
	b.wantSmall(64)
}

func TestAChildThatIgnoresSignals(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell(`trap '' HUP INT QUIT TERM USR1 USR2 PIPE; echo $$; while :; do sleep 0.05; done`)})
	pids := r.pids(1)
	for _, signal := range []processv1.Signal{processv1.Signal_SIGNAL_SIGTERM, processv1.Signal_SIGNAL_SIGINT, processv1.Signal_SIGNAL_SIGHUP} {
		if _, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: r.id, Signal: signal}); err != nil {
			t.Fatal(err)
		}
	}
	if !alive(pids[0]) {
		t.Error("it does not ignore signals")
	}
	if _, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: r.id, Signal: processv1.Signal_SIGNAL_SIGKILL}); err != nil {
		t.Fatal(err)
	}
	if exit := r.finish(); exit.GetSignal() != 9 {
		t.Errorf("it ended with %v", exit)
	}
	b.wantWorking()
}

func TestAChildThatClosesItsOutput(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	r := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell(`echo before; exec >&- 2>&- <&-; sleep 0.3; exit 8`)})
	if exit := r.finish(); exit.ExitCode != 8 || r.stdout.String() != "before\n" {
		t.Errorf("got %v, %q", exit, r.stdout.String())
	}
	b.wantWorking()
}

// The child fills its pipe and blocks. The daemon does not buffer output that is not read.
func TestAStalledReader(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var streams []*run
	for range 8 {
		streams = append(streams, b.begin(ctx, &processv1.StartRequest{Config: shell(`echo $$; exec yes "$(head -c 1000 /dev/zero | tr '\0' x)"`)}))
	}
	written := func() (total uint64) {
		list, err := b.client.List(timeLimited(t), &processv1.ListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Processes {
			total += p.NextOffset
		}
		return total
	}
	before := ^uint64(0)
	eventually(t, "the standstill", func() bool {
		now := written()
		still := now == before && now > 0
		before = now
		time.Sleep(100 * time.Millisecond)
		return still
	})
	// Eight log buffers of 64 KiB, and the buffers of HTTP/2.
	b.wantSmall(64)
	cancel()
	b.wantWorking()
	for _, r := range streams {
		eventually(t, "the end of the writers", func() bool {
			_, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: r.id, Signal: processv1.Signal_SIGNAL_SIGTERM})
			return connect.CodeOf(err) == connect.CodeNotFound
		})
	}
}

func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	detached := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("exec yes"), Detach: true})
	detached.stream.Close()
	_, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("exec yes 0123456789abcdef")})
	wantCode(t, err, connect.CodeResourceExhausted)
	b.wantSmall(400)
	if _, err := b.client.SendSignal(timeLimited(t), &processv1.SendSignalRequest{ProcessId: detached.id, Signal: processv1.Signal_SIGNAL_SIGKILL}); err != nil {
		t.Fatal(err)
	}
	b.wantWorking()
}

func raw(t *testing.T, url, text string) string {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(15 * time.Second))
	// The server may close the connection while this still writes.
	_, _ = io.WriteString(connection, text)
	line, _ := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestHostileRequests(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	auth := "Host: x\r\nX-Sandbox-Token: " + tokenText + "\r\n"
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, "X-%d: y\r\n", i)
	}
	for name, text := range map[string]string{
		"huge header":       "GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"100,000 headers":   "GET /v1/files/ HTTP/1.1\r\n" + auth + many.String() + "\r\n",
		"huge line":         "GET /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\n" + auth + "\r\n",
		"two lengths":       "PUT /v1/files/a HTTP/1.1\r\n" + auth + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"length and chunks": "PUT /v1/files/a HTTP/1.1\r\n" + auth + "Content-Length: 3\r\nTransfer-Encoding: x\r\n\r\nabc",
		"bad chunks":        "PUT /v1/files/a HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"bad escape":        "GET /v1/files/%zz HTTP/1.1\r\n" + auth + "\r\n",
		"space in header":   "GET /v1/files/ HTTP/1.1\r\n" + auth + "Bad Header: x\r\n\r\n",
		"no protocol":       "GET /\r\n\r\n" + strings.Repeat(" ", 24),
		"garbage":           "\x00\x01\x02\xff\xfe\r\n\r\n" + strings.Repeat("\x00", 24),
		"TLS":               "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
	} {
		for _, url := range []string{b.rest, b.legacy, b.grpc} {
			got := raw(t, url, text)
			if strings.Contains(got, " 200 ") || strings.Contains(got, " 204 ") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	deep := strings.Repeat("[", 100_000)
	b.do(request{method: "POST", url: b.legacy + "/execute", body: strings.NewReader(deep)}).wantStatus(t, 422)
	b.do(request{method: "POST", url: b.rest + "/v1/fs/mkdir", body: strings.NewReader(`{"path":` + deep)}).wantCode(t, 400, "INVALID_ARGUMENT")
	b.do(request{method: "POST", url: b.rest + "/v1/fs/mkdir", body: strings.NewReader(`{"path":"a"}{"path":"b"}`)}).wantCode(t, 400, "INVALID_ARGUMENT")
	b.do(request{method: "POST", url: b.rest + "/v1/fs/mkdir", body: io.LimitReader(zeros{}, 100<<20)}).wantCode(t, 413, "TOO_LARGE")
	b.do(request{method: "POST", url: b.grpc + "/process.v1.ProcessService/Execute", body: io.LimitReader(zeros{}, 100<<20), header: map[string]string{"Content-Type": "application/proto"}}).wantStatus(t, 429)
	if entries, _ := os.ReadDir(b.root); len(entries) != 0 {
		t.Errorf("a refused request left %v", entries)
	}
	b.wantSmall(64)
	b.wantWorking()
}

func TestTooManyProcesses(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	codes := map[connect.Code]int{}
	var wait sync.WaitGroup
	for range 520 {
		wait.Go(func() {
			stream, err := b.client.Start(ctx, &processv1.StartRequest{Config: &processv1.ProcessConfig{Command: []string{"sleep", "100"}}, Detach: true})
			code := connect.Code(0)
			if err == nil {
				if !stream.Receive() {
					err = stream.Err()
				}
				stream.Close()
			}
			if err != nil {
				code = connect.CodeOf(err)
			}
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	wait.Wait()
	if codes[0] != 512 || codes[connect.CodeResourceExhausted] != 8 {
		t.Errorf("the starts ended with %v", codes)
	}
	b.get(b.rest+"/v1/health").wantStatus(t, 200)
}
