package test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

type report struct {
	Busy             bool
	RunningProcesses int `json:"running_processes"`
	RunningContexts  int `json:"running_contexts"`
	OpenStreams      int `json:"open_streams"`
	Leases           []struct{ Name string }
	LastActivity     time.Time `json:"last_activity"`
	CPUSeconds       float64   `json:"cpu_seconds"`
}

func (b *box) report() report { b.t.Helper(); return decode[report](b.t, b.get(b.rest+"/v1/activity")) }

// inside returns a client for the unix socket.
func (b *box) inside() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", b.socket)
	}}}
}

func (b *box) insideDo(method, path string) int {
	b.t.Helper()
	built, _ := http.NewRequest(method, "http://sandbox"+path, nil)
	response, err := b.inside().Do(built)
	if err != nil {
		b.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestActivity(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{command: []string{"sleep", "1000"}})
	idle := b.report()
	if idle.Busy || idle.RunningProcesses != 0 || idle.OpenStreams != 0 || idle.LastActivity.IsZero() {
		t.Errorf("an idle sandbox reports %+v", idle)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := b.begin(ctx, &processv1.StartRequest{Config: shell("sleep 100")})
	busy := b.report()
	if !busy.Busy || busy.RunningProcesses != 1 || busy.OpenStreams != 1 || !busy.LastActivity.After(idle.LastActivity) {
		t.Errorf("a busy sandbox reports %+v", busy)
	}
	_ = r
	cancel()
	s := b.context("python")
	counted := make(chan cell, 1)
	go func() { counted <- s.run("n = 0\nimport os\nwhile not os.path.exists('enough'): n += 1", 30) }()
	eventually(t, "processor time in a context", func() bool {
		now := b.report()
		return now.Busy && now.RunningContexts == 1 && now.RunningProcesses == 0 && now.CPUSeconds > idle.CPUSeconds+0.1
	})
	b.write("enough", "")
	if got := <-counted; got.Error != nil {
		t.Errorf("the code ended with %+v", got.Error)
	}
	eventually(t, "quiet", func() bool { return !b.report().Busy })
	// The request does not count as activity.
	quiet := b.report()
	if again := b.report(); again.LastActivity != quiet.LastActivity {
		t.Error("asking for the activity is activity")
	}
}

func TestLeasesOverTheSocket(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("echo $SANDBOXD_SOCKET")})
	if err != nil || string(got.Stdout) != b.socket+"\n" {
		t.Errorf("the workload is told of %q, %v", got.GetStdout(), err)
	}
	if status := b.insideDo("PUT", "/v1/leases/job?ttl=1h"); status != 200 {
		t.Errorf("a lease is answered with %d", status)
	}
	if now := b.report(); !now.Busy || len(now.Leases) != 1 || now.Leases[0].Name != "job" {
		t.Errorf("with a lease it reports %+v", now)
	}
	if status := b.insideDo("DELETE", "/v1/leases/job"); status != 204 {
		t.Errorf("a release is answered with %d", status)
	}
	if status := b.insideDo("DELETE", "/v1/leases/job"); status != 404 {
		t.Errorf("a second release is answered with %d", status)
	}
	if b.insideDo("PUT", "/v1/leases/short?ttl=0.2") != 200 {
		t.Error("a short lease is refused")
	}
	eventually(t, "the end of a lease", func() bool { return !b.report().Busy })
	for _, path := range []string{"/v1/leases/x?ttl=-1", "/v1/leases/x?ttl=9000h", "/v1/leases/x?ttl=0"} {
		if status := b.insideDo("PUT", path); status != 400 && status != 409 {
			t.Errorf("%s is answered with %d", path, status)
		}
	}
	for i := range 64 {
		b.insideDo("PUT", fmt.Sprintf("/v1/leases/n%d", i))
	}
	if status := b.insideDo("PUT", "/v1/leases/one-too-many"); status != 409 {
		t.Errorf("the 65th lease is answered with %d", status)
	}
	// The socket serves nothing else.
	for _, path := range []string{"/v1/files/", "/v1/metadata", "/v1/contexts", "/v1/usage"} {
		if status := b.insideDo("GET", path); status != 404 {
			t.Errorf("the socket answers %s with %d", path, status)
		}
	}
}

func TestALeaseHeldByAConnection(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	built, _ := http.NewRequestWithContext(ctx, "POST", "http://sandbox/v1/leases/held/hold", nil)
	response, err := b.inside().Do(built)
	if err != nil || response.StatusCode != 200 {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if !b.report().Busy {
		t.Error("a held lease does not count")
	}
	if status := b.insideDo("PUT", "/v1/leases/held"); status != 409 {
		t.Errorf("taking a held lease is answered with %d", status)
	}
	cancel()
	eventually(t, "the release", func() bool { return !b.report().Busy })
}

func TestUsage(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	type numbers struct {
		CPU       struct{ Used_seconds, Limit_cores float64 }
		Memory    struct{ Used_bytes uint64 }
		Processes struct{ Count int }
		Disk      struct{ Total_bytes, Used_bytes uint64 }
	}
	got := decode[numbers](t, b.get(b.rest+"/v1/usage"))
	if got.CPU.Used_seconds <= 0 || got.CPU.Limit_cores <= 0 || got.Memory.Used_bytes == 0 || got.Processes.Count == 0 || got.Disk.Total_bytes < got.Disk.Used_bytes {
		t.Errorf("usage is %+v", got)
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	port := freePorts(t, 1)[0]
	type ready struct {
		Ready  bool
		Reason string
	}
	if now := decode[ready](t, b.get(b.rest+"/v1/ports/"+port)); now.Ready || now.Reason == "" {
		t.Errorf("a closed port is %+v", now)
	}
	waited := make(chan ready, 1)
	go func() { waited <- decode[ready](t, b.get(b.rest+"/v1/ports/"+port+"?wait=20s&http=/")) }()
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: http.NotFoundHandler()}
	go func() { _ = server.ListenAndServe() }()
	defer server.Close()
	if now := <-waited; !now.Ready {
		t.Errorf("an open port is %+v", now)
	}
	if list := b.get(b.rest + "/v1/ports"); !strings.Contains(list.body, `{"port":`+port+`,"address":"127.0.0.1","pid":`) {
		t.Errorf("the list lacks port %s: %s", port, list.body)
	}
	for _, bad := range []string{"0", "65536", "x", "80?wait=x", "80?http=x"} {
		b.get(b.rest+"/v1/ports/"+bad).wantCode(t, 400, "INVALID_ARGUMENT")
	}
}

type cell struct {
	Stdout, Stderr string
	Results        []map[string]any
	Error          *struct{ Name, Message, Traceback string }
	ExecutionCount int `json:"execution_count"`
}

// session is a code context.
type session struct {
	b   *box
	url string
}

func (b *box) context(language string) *session {
	b.t.Helper()
	created := b.post(b.rest+"/v1/contexts", map[string]string{"language": language})
	if created.status != 201 {
		b.t.Fatalf("got %d %s", created.status, created.body)
	}
	return &session{b, b.rest + "/v1/contexts/" + decode[struct{ ID string }](b.t, created).ID}
}

func (s *session) run(code string, seconds float64) cell {
	s.b.t.Helper()
	return decode[cell](s.b.t, s.b.post(s.url+"/execute", map[string]any{"code": code, "timeout_seconds": seconds}))
}

func TestContextsKeepTheirVariables(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for language, c := range map[string]struct{ define, use, fail, loop, wait, binary string }{
		"python": {
			define: "x = 41\nprint('é' * 50000, end='')", use: "x + 1", fail: "undefined_name", loop: "while True: pass",
			wait: "import asyncio\nawait asyncio.sleep(0.01)\nx", binary: `import subprocess; subprocess.run(['printf', 'child\\377\\376\\342\\202']); x`,
		},
		"javascript": {
			define: "const x = 41; process.stdout.write('é'.repeat(50000))&&undefined", use: "x + 1", fail: "undefinedName", loop: "while (true);",
			wait: "const y = await Promise.resolve(x); y", binary: `require('child_process').spawnSync('printf', ['child\\377\\376\\342\\202'], {stdio: 'inherit'}); x`,
		},
	} {
		t.Run(language, func(t *testing.T) {
			s := b.context(language)
			if got := s.run(c.define, 0); got.Stdout != strings.Repeat("é", 50000) || got.Error != nil {
				t.Errorf("defining gives %d bytes, %+v", len(got.Stdout), got.Error)
			}
			if got := s.run(c.use, 0); len(got.Results) != 1 || got.Results[0]["text/plain"] != "42" || got.ExecutionCount != 2 {
				t.Errorf("using gives %+v", got)
			}
			if got := s.run(c.fail, 0); got.Error == nil || !strings.Contains(got.Error.Name, "Error") || got.Error.Traceback == "" {
				t.Errorf("failing gives %+v", got)
			}
			if got := s.run(c.loop, 0.3); got.Error == nil || got.Error.Name != "TimeoutError" {
				t.Errorf("looping gives %+v", got.Error)
			}
			if got := s.run(c.wait, 0); got.Error != nil || len(got.Results) != 1 || got.Results[0]["text/plain"] != "41" {
				t.Errorf("waiting gives %+v %+v", got, got.Error)
			}
			if got := s.run(c.binary, 0); got.Stdout != "child"+strings.Repeat("\uFFFD", 4) {
				t.Errorf("a child's output gives %+v %+v", got, got.Error)
			}
			b.do(request{method: "DELETE", url: s.url}).want(t, 204, "")
			b.post(s.url+"/execute", map[string]string{"code": "1"}).wantCode(t, 404, "NOT_FOUND")
		})
	}
}

func TestContextErrors(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.post(b.rest+"/v1/contexts", map[string]string{"language": "cobol"}).wantCode(t, 400, "INVALID_ARGUMENT")
	b.post(b.rest+"/v1/contexts", map[string]string{"language": "python", "cwd": "../.."}).wantCode(t, 403, "PERMISSION_DENIED")
	b.post(b.rest+"/v1/contexts/none/execute", map[string]string{"code": "1"}).wantCode(t, 404, "NOT_FOUND")
	s := b.context("python")
	b.post(s.url+"/execute", map[string]any{"code": "1", "timeout_seconds": -1}).wantCode(t, 400, "INVALID_ARGUMENT")
	if got := s.run("import os; os._exit(3)", 0); got.Error == nil || got.Error.Name != "ContextEnded" {
		t.Errorf("an interpreter that ends gives %+v", got.Error)
	}
	bare := start(t, boxOptions{env: []string{"PATH=/nowhere"}})
	bare.post(bare.rest+"/v1/contexts", map[string]string{"language": "python"}).wantCode(t, 412, "FAILED_PRECONDITION")
}

func TestContextStreamsInOrder(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for code, want := range map[string]string{
		`class R:\n  def _repr_html_(self): return '<b>'\nprint('1')\ndisplay(R())\n3`: "stdout1 display<b> result end",
		`import os\nprint('1')\nos._exit(3)`:                                           "stdout1 errorContextEnded end",
	} {
		if got := b.context("python").kindsOf(t, code); got != want {
			t.Errorf("the events of %s are %s", code, got)
		}
	}
}

// kindsOf runs code and returns the kinds of its events, with the output, the HTML or the name of the error.
func (s *session) kindsOf(t *testing.T, code string) string {
	t.Helper()
	built, _ := http.NewRequest("POST", s.url+"/execute?stream=true", strings.NewReader(`{"code":"`+code+`"}`))
	response, err := authenticated(http.DefaultClient, tokenText).Do(built)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var kinds []string
	for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
		var event struct {
			Type, Text, Name string
			Data             map[string]string
		}
		if err := json.Unmarshal(scanner.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		// Python writes the line feed separately.
		if event.Text == "\n" {
			continue
		}
		kinds = append(kinds, event.Type+strings.TrimSpace(event.Text)+event.Name+event.Data["text/html"])
	}
	return strings.Join(kinds, " ")
}
