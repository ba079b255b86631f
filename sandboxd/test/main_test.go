// Package test tests the real program over its ports.
package test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1/processv1connect"
)

const tokenText = "an-example-token-of-enough-length"

var program string

// underRaceDetector tells whether the program is built with the race detector. These tests need none of their own: the code
// under test runs in the program.
var underRaceDetector = os.Getenv("SANDBOXD_RACE") != ""

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sandboxd-test-")
	if err != nil || os.Chmod(dir, 0o755) != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "sandboxd")
	build := exec.Command("go", "build", "-o", program, "../cmd/sandboxd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if underRaceDetector {
		build = exec.Command("go", "build", "-race", "-o", program, "../cmd/sandboxd")
	}
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintln(os.Stderr, string(output))
		return 1
	}
	return m.Run()
}

// box is a running daemon.
type box struct {
	t                  testing.TB
	root, socket       string
	rest, legacy, grpc string
	client             processv1connect.ProcessServiceClient
	command            *exec.Cmd
	stderr             *lockedBuffer
	stopped            chan struct{}
}

type boxOptions struct {
	flags   []string
	command []string
	env     []string
	// attr starts the program in namespaces; wrap starts it with another program.
	attr *syscall.SysProcAttr
	wrap []string
	// user is the user of the program and the owner of its directory.
	user int
	// dir is the directory of all files. Default: a new one.
	dir string
}

// lockedBuffer does not embed the buffer: io.Copy would call its ReadFrom, which does not take the lock.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func freePorts(t testing.TB, n int) []string {
	t.Helper()
	ports := make([]string, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		ports = append(ports, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	}
	return ports
}

// start starts the program and waits until it is healthy.
func start(t testing.TB, options boxOptions) *box {
	t.Helper()
	dir := options.dir
	if dir == "" {
		dir = t.TempDir()
	}
	// Everyone may enter it, so that a refusal is caused by the requested file.
	for _, passed := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(passed); err != nil || os.Chmod(passed, info.Mode()|0o755) != nil {
			t.Fatalf("%s cannot be opened: %v", passed, err)
		}
	}
	b := &box{t: t, root: filepath.Join(dir, "root"), socket: filepath.Join(dir, "s"), stderr: &lockedBuffer{}, stopped: make(chan struct{})}
	tokenFile := filepath.Join(dir, "token")
	if err := os.WriteFile(tokenFile, []byte(tokenText+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	if options.user != 0 {
		if err := errors.Join(os.Chown(dir, options.user, options.user), os.Chown(tokenFile, options.user, options.user)); err != nil {
			t.Fatal(err)
		}
		id := strconv.Itoa(options.user)
		options.wrap = append([]string{"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"}, options.wrap...)
	}
	ports := freePorts(t, 3)
	b.rest, b.legacy, b.grpc = "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1], "http://127.0.0.1:"+ports[2]
	args := append(options.wrap, program, "run", "--listen-host=127.0.0.1", "--rest-port="+ports[0], "--legacy-port="+ports[1], "--grpc-port="+ports[2],
		"--root-dir="+b.root, "--socket="+b.socket,
		// Not those of the machine that runs the tests.
		"--environment-file="+filepath.Join(dir, "environment"), "--hooks-dir="+filepath.Join(dir, "hooks"), "--machine-id-files="+filepath.Join(dir, "machine-id"))
	args = append(args, options.flags...)
	if options.command != nil {
		args = append(append(args, "--"), options.command...)
	}
	b.command = exec.Command(args[0], args[1:]...)
	b.command.Env = append(os.Environ(), "SANDBOXD_TOKEN_FILE="+tokenFile, "SANDBOX_BASE_DIR="+b.root)
	b.command.Env = append(b.command.Env, options.env...)
	b.command.Stderr = b.stderr
	b.command.SysProcAttr = options.attr
	if options.attr == nil {
		b.command.SysProcAttr = &syscall.SysProcAttr{}
	}
	// The program is killed with the test process.
	b.command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := b.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = b.command.Wait()
		close(b.stopped)
	}()
	t.Cleanup(b.stop)
	b.client = processv1connect.NewProcessServiceClient(authenticated(h2c(), tokenText), b.grpc, connect.WithGRPC())
	b.awaitHealth()
	return b
}

func (b *box) stop() {
	_ = b.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.stopped:
	case <-time.After(20 * time.Second):
		_ = b.command.Process.Kill()
		b.t.Errorf("the program did not stop; it said: %s", b.stderr.String())
	}
	if said := b.stderr.String(); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic") {
		b.t.Errorf("the program said: %s", said)
	}
}

func (b *box) awaitHealth() {
	b.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		response, err := http.Get(b.rest + "/v1/health")
		if err == nil {
			response.Body.Close()
			return
		}
		select {
		case <-b.stopped:
			b.t.Fatalf("the program ended: %s", b.stderr.String())
		default:
		}
	}
	b.t.Fatalf("the program is not healthy: %s", b.stderr.String())
}

func h2c() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 1 << 20, MaxReceiveBufferPerConnection: 16 << 20}}}
}

type addToken struct {
	next  http.RoundTripper
	token string
}

func (a addToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Sandbox-Token", a.token)
	return a.next.RoundTrip(r)
}

func authenticated(client *http.Client, token string) *http.Client {
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{Transport: addToken{next, token}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// answer is a complete response.
type answer struct {
	status int
	header http.Header
	body   string
}

type request struct {
	method, url string
	body        io.Reader
	header      map[string]string
}

func (b *box) do(r request) answer { b.t.Helper(); return b.doAs(tokenText, r) }

func (b *box) doAs(token string, r request) answer {
	b.t.Helper()
	built, err := http.NewRequest(r.method, r.url, r.body)
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range r.header {
		built.Header.Set(name, value)
	}
	response, err := authenticated(http.DefaultClient, token).Do(built)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func (b *box) get(url string) answer { b.t.Helper(); return b.do(request{method: "GET", url: url}) }

func (b *box) put(path, content string) answer {
	b.t.Helper()
	return b.do(request{method: "PUT", url: b.rest + "/v1/files/" + path, body: strings.NewReader(content)})
}

func (b *box) delete(path string) answer {
	b.t.Helper()
	return b.do(request{method: "DELETE", url: b.rest + "/v1/files/" + path})
}

func (b *box) post(url string, body any) answer {
	b.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(request{method: "POST", url: url, body: bytes.NewReader(encoded), header: map[string]string{"Content-Type": "application/json"}})
}

func (a answer) want(t testing.TB, status int, body string) {
	t.Helper()
	if a.status != status || a.body != body {
		t.Errorf("got %d %s, want %d %s", a.status, a.body, status, body)
	}
}

func (a answer) wantCode(t testing.TB, status int, code string) {
	t.Helper()
	var failure struct{ Code, Message string }
	if err := json.Unmarshal([]byte(a.body), &failure); err != nil || a.status != status || failure.Code != code || failure.Message == "" {
		t.Errorf("got %d %s, want %d with code %s", a.status, a.body, status, code)
	}
}

func (a answer) wantStatus(t testing.TB, status int) {
	t.Helper()
	if a.status != status {
		t.Errorf("got %d %s, want %d", a.status, a.body, status)
	}
}

func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("cannot decode %d %q: %v", a.status, a.body, err)
	}
	return value
}

func (b *box) file(name string) string { return filepath.Join(b.root, name) }

func (b *box) write(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(b.file(name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(name string) string {
	b.t.Helper()
	content, err := os.ReadFile(b.file(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("%s did not come true", what)
}

func timeLimited(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}
