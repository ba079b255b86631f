package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

type executed struct {
	Stdout       string
	Stderr       string
	ExitCode     int    `json:"exit_code"`
	TimedOut     bool   `json:"timed_out"`
	StdoutBase64 string `json:"stdout_base64"`
}

func (b *box) execute(command string) answer {
	b.t.Helper()
	return b.post(b.legacy+"/execute", map[string]string{"command": command})
}

func TestLegacyExecute(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.get(b.legacy+"/").want(t, 200, `{"status":"ok","message":"Sandbox Runtime is active."}`)
	for command, body := range map[string]string{
		`echo hi > x`:                        `{"stdout":"hi > x\n","stderr":"","exit_code":0}`,
		`sh -c "echo a; echo b >&2; exit 7"`: `{"stdout":"a\n","stderr":"b\n","exit_code":7}`,
		`sh -c 'kill -9 $$'`:                 `{"stdout":"","stderr":"","exit_code":-9}`,
		`printf 'a\r\nb\r'`:                  `{"stdout":"a\r\nb\r","stderr":"","exit_code":0}`,
		`echo a\ b "c d"'e'`:                 `{"stdout":"a b c de\n","stderr":"","exit_code":0}`,
		`pwd`:                                fmt.Sprintf(`{"stdout":"%s\n","stderr":"","exit_code":0}`, b.root),
		`cat`:                                `{"stdout":"","stderr":"","exit_code":0}`,
		`echo <&>`:                           `{"stdout":"<&>\n","stderr":"","exit_code":0}`,
	} {
		b.execute(command).want(t, 200, body)
	}
}

func TestLegacyFailures(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for command, kind := range map[string]string{
		"no-such-program": "not-found", `echo "open`: "invalid-command", "": "invalid-command", "  ": "invalid-command", "/etc/passwd": "permission-denied",
	} {
		got := b.execute(command)
		result := decode[executed](t, got)
		if got.status != 200 || result.Stdout != "" || result.ExitCode != 1 || !strings.HasPrefix(result.Stderr, "Failed to execute command: ") {
			t.Errorf("%q gives %d %s", command, got.status, got.body)
		}
		if got.header.Get("X-Sandbox-Exec-Error") != kind {
			t.Errorf("%q is told as %q", command, got.header.Get("X-Sandbox-Exec-Error"))
		}
	}
	if got := b.execute("false"); got.header.Get("X-Sandbox-Exec-Error") != "" {
		t.Error("a program that exits with 1 looks like a failure to run it")
	}
}

func TestLegacyBadBodies(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for body, complaint := range map[string]string{
		``:              `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]}`,
		`{}`:            `{"detail":[{"type":"missing","loc":["body","command"],"msg":"Field required","input":{}}]}`,
		`{"command":5}`: `{"detail":[{"type":"string_type","loc":["body","command"],"msg":"Input should be a valid string","input":5}]}`,
		`{"command":`:   "",
		`[]`:            "",
		`{"command":"true","timeout_seconds":-1}`: "",
	} {
		got := b.do(request{method: "POST", url: b.legacy + "/execute", body: strings.NewReader(body)})
		if got.status != 422 || (complaint != "" && got.body != complaint) || !strings.HasPrefix(got.body, `{"detail":[{`) {
			t.Errorf("%s gives %d %s", body, got.status, got.body)
		}
	}
	huge := b.do(request{method: "POST", url: b.legacy + "/execute", body: strings.NewReader(`{"command":"` + strings.Repeat("x", 5<<20) + `"}`)})
	huge.wantStatus(t, 413)
	if got := b.do(request{method: "HEAD", url: b.legacy + "/list/"}); got.status != 405 || got.header.Get("Allow") != "GET" {
		t.Errorf("HEAD gives %d %v", got.status, got.header)
	}
	b.do(request{method: "POST", url: b.legacy + "/download/x"}).want(t, 405, `{"detail":"Method Not Allowed"}`)
	b.get(b.legacy+"/nothing").want(t, 404, `{"detail":"Not Found"}`)
	b.get(b.legacy+"/download").want(t, 404, `{"message":"File not found"}`)
	for _, path := range []string{"/exists", "/exists/"} {
		b.get(b.legacy+path).want(t, 200, `{"path":".","exists":true}`)
	}
}

// The reference implementation loses output that is not UTF-8. Here the exact bytes are returned too.
func TestLegacyBinaryOutput(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	result := decode[executed](t, b.execute(`printf 'a\377\376b\342\202'`))
	if result.Stdout != "a\uFFFD\uFFFDb\uFFFD\uFFFD" || result.StdoutBase64 != "Yf/+YuKC" || result.ExitCode != 0 {
		t.Errorf("got %+v", result)
	}
}

func TestLegacyTimeLimits(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{env: []string{"SANDBOX_EXEC_TIMEOUT_SECONDS=0.6"}})
	command := `sh -c "echo partial; setsid sleep 300 & echo $! > pid; sleep 300"`
	for name, post := range map[string]func() answer{
		"the operator's limit": func() answer { return b.execute(command) },
		"the header's limit": func() answer {
			return b.do(request{method: "POST", url: b.legacy + "/execute", body: strings.NewReader(`{"command":"sleep 300"}`), header: map[string]string{"X-Sandbox-Timeout": "0.2"}})
		},
	} {
		got := post()
		result := decode[executed](t, got)
		if result.ExitCode != 1 || !result.TimedOut || !strings.Contains(result.Stderr, "timed out") || result.Stdout != "" || got.header.Get("X-Sandbox-Exec-Error") != "timeout" {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	// A client that asks for a limit gets the output so far, whichever limit ended the command.
	for _, seconds := range []float64{0.2, 300} {
		got := b.post(b.legacy+"/execute", map[string]any{"command": command, "timeout_seconds": seconds})
		if got.body != `{"stdout":"partial\n","stderr":"","exit_code":124,"timed_out":true}` || got.header.Get("X-Sandbox-Exec-Error") != "timeout" {
			t.Errorf("timeout_seconds %v: %s", seconds, got.body)
		}
	}
	wantDead(t, []int{number(t, b.read("pid"))})
}

func TestLegacyCommandsEndWithTheirCaller(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	built, _ := http.NewRequestWithContext(ctx, "POST", b.legacy+"/execute", strings.NewReader(`{"command":"sh -c 'echo $$ > pid; sleep 300'"}`))
	failed := make(chan error, 1)
	go func() {
		_, err := authenticated(http.DefaultClient, tokenText).Do(built)
		failed <- err
	}()
	eventually(t, "the command", func() bool { content, _ := os.ReadFile(b.file("pid")); return len(content) > 1 })
	cancel()
	if <-failed == nil {
		t.Error("the request was answered")
	}
	wantDead(t, []int{number(t, b.read("pid"))})
}

func TestLegacyRepeatedRequestsRunOnce(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	call := func(ctx context.Context) (*http.Response, error) {
		built, _ := http.NewRequestWithContext(ctx, "POST", b.legacy+"/execute", strings.NewReader(`{"command":"sh -c 'echo x >> runs; sleep 0.5; wc -l < runs'"}`))
		built.Header.Set("X-Request-ID", "retry-me")
		return authenticated(http.DefaultClient, tokenText).Do(built)
	}
	// The first client disconnects, the second finds the command running, the third gets its result.
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	if _, err := call(ctx); err == nil {
		t.Error("the first call was answered")
	}
	for range 2 {
		response, err := call(timeLimited(t))
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(response.Body)
		response.Body.Close()
		if body.String() != `{"stdout":"1\n","stderr":"","exit_code":0}` {
			t.Errorf("got %s", body.String())
		}
	}
}

func (b *box) upload(field, filename, content string) answer {
	b.t.Helper()
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	header := textproto.MIMEHeader{}
	disposition := fmt.Sprintf(`form-data; name="%s"`, field)
	if filename != "" {
		disposition += fmt.Sprintf(`; filename="%s"`, filename)
	}
	header.Set("Content-Disposition", disposition)
	part, _ := writer.CreatePart(header)
	_, _ = part.Write([]byte(content))
	writer.Close()
	return b.do(request{method: "POST", url: b.legacy + "/upload", body: &body, header: map[string]string{"Content-Type": writer.FormDataContentType()}})
}

func TestLegacyFiles(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.upload("file", "in/report.csv", "0123456789").want(t, 200, `{"message":"File 'in/report.csv' uploaded successfully."}`)
	b.get(b.legacy+"/exists/in%2Freport.csv").want(t, 200, `{"path":"in/report.csv","exists":true}`)
	b.get(b.legacy+"/exists/nowhere").want(t, 200, `{"path":"nowhere","exists":false}`)
	stamp := time.Unix(1787000000, 250_000_000)
	if err := os.Chtimes(b.file("in/report.csv"), stamp, stamp); err != nil {
		t.Fatal(err)
	}
	b.get(b.legacy+"/list/in").want(t, 200, `[{"name":"report.csv","size":10,"type":"file","mod_time":1787000000.25}]`)
	for _, path := range []string{"/list", "/list/", "/list/.", "/list/%2F"} {
		if got := b.get(b.legacy + path); !strings.Contains(got.body, `"name":"in"`) || !strings.Contains(got.body, `"type":"directory"`) {
			t.Errorf("%s gives %s", path, got.body)
		}
	}
	whole := b.get(b.legacy + "/download/in%2Freport.csv")
	whole.want(t, 200, "0123456789")
	for name, value := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename="report.csv"`, "Accept-Ranges": "bytes",
	} {
		if whole.header.Get(name) != value {
			t.Errorf("%s is %q", name, whole.header.Get(name))
		}
	}
	if whole.header.Get("ETag") == "" || whole.header.Get("Last-Modified") == "" {
		t.Error("a download lacks its ETag or its date")
	}
	b.do(request{method: "GET", url: b.legacy + "/download/in/report.csv", header: map[string]string{"Range": "bytes=0-3"}}).want(t, 206, "0123")
	several := b.do(request{method: "GET", url: b.legacy + "/download/in/report.csv", header: map[string]string{"Range": "bytes=0-1,8-9"}})
	if several.status != 206 || !strings.HasPrefix(several.header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("several ranges give %d %v", several.status, several.header)
	}
	b.get(b.legacy+"/download/in").want(t, 404, `{"message":"File not found"}`)
	b.get(b.legacy+"/download/none").want(t, 404, `{"message":"File not found"}`)
	b.get(b.legacy+"/list/in/report.csv").want(t, 404, `{"message":"Path is not a directory"}`)
	b.get(b.legacy+"/list/none").want(t, 404, `{"message":"Path is not a directory"}`)
	for _, outside := range []string{"../evil", "/../evil", "//../evil", "in/../../evil", "/in/../../evil", ".."} {
		b.upload("file", outside, "x").want(t, 403, `{"message":"Access denied"}`)
		for _, route := range []string{"/download/", "/list/", "/exists/"} {
			b.get(b.legacy+route+url.PathEscape(outside)).want(t, 403, `{"message":"Access denied"}`)
		}
	}
	b.upload("file", "/in/slash", "x").wantStatus(t, 200)
	b.get(b.legacy+"/download/in%2Fslash").want(t, 200, "x")
	b.upload("other", "x", "x").wantStatus(t, 422)
	b.upload("file", "", "x").wantStatus(t, 422)
	if got := b.upload("file", "in", "x"); got.status != 500 || !strings.HasPrefix(got.body, `{"message":"File upload failed: `) {
		t.Errorf("an upload over a directory gives %d %s", got.status, got.body)
	}
}

func TestLegacyListingKnowsFilesAndDirectoriesOnly(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.write("target", "12345")
	socket, err := net.Listen("unix", b.file("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := errors.Join(syscall.Mkfifo(b.file("fifo"), 0o644), os.Symlink("target", b.file("link")), os.Mkdir(b.file("folder"), 0o755), os.Symlink("folder", b.file("to-folder"))); err != nil {
		t.Fatal(err)
	}
	kinds := ""
	for _, entry := range decode[[]struct {
		Name, Type string
		Size       int
	}](t, b.get(b.legacy+"/list/")) {
		kinds += entry.Name + " " + entry.Type + "\n"
		if entry.Name == "link" && entry.Size != 5 {
			t.Errorf("a link has %d bytes", entry.Size)
		}
	}
	if kinds != "fifo file\nfolder directory\nlink file\nsocket file\ntarget file\nto-folder directory\n" {
		t.Errorf("the listing is\n%s", kinds)
	}
}

// The reference implementation decodes twice, and a dangling link fails the whole listing.
func TestLegacyFilesBetterThanTheReference(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.upload("file", "100%41", "percent").wantStatus(t, 200)
	b.get(b.legacy+"/download/100%2541").want(t, 200, "percent")
	_ = os.Symlink("nowhere", b.file("dangling"))
	_ = os.Symlink("/etc", b.file("outside"))
	got := b.get(b.legacy + "/list/")
	if got.status != 200 || !strings.Contains(got.body, "100%41") || strings.Contains(got.body, "dangling") || strings.Contains(got.body, "outside") {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
