package test

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFilesRoundTrip(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("bin%2Frun.sh?mode=0755", "#!/bin/sh\necho ok\n").want(t, 204, "")
	if info, err := os.Stat(b.file("bin/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	got := b.get(b.rest + "/v1/files/bin/run.sh")
	got.want(t, 200, "#!/bin/sh\necho ok\n")
	for name, value := range map[string]string{"Content-Type": "application/octet-stream", "Content-Length": "18", "Accept-Ranges": "bytes"} {
		if got.header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), value)
		}
	}
	stamp, err := http.ParseTime(got.header.Get("Last-Modified"))
	if err != nil {
		t.Error(err)
	}
	listing := `{"path":"/bin","entries":[{"name":"run.sh","size":18,"type":"file","modified_at":"` + stamp.UTC().Format(time.RFC3339) + `","mode":"0755"}]}`
	b.get(b.rest+"/v1/files/bin").want(t, 200, listing)
	b.get(b.rest+"/v1/files/bin/").want(t, 200, strings.Replace(listing, `"/bin"`, `"/bin/"`, 1))
	head := b.do(request{method: "HEAD", url: b.rest + "/v1/files/bin%2Frun.sh"})
	head.want(t, 200, "")
	if head.header.Get("X-File-Mode") != "0755" || head.header.Get("ETag") == "" {
		t.Errorf("HEAD lacks the mode or the ETag: %v", head.header)
	}
	b.do(request{method: "HEAD", url: b.rest + "/v1/files/bin"}).want(t, 200, "")
	b.do(request{method: "HEAD", url: b.rest + "/v1/files/none"}).want(t, 404, "")
	b.delete("bin").wantCode(t, 409, "CONFLICT")
	b.delete("bin?recursive=true").want(t, 204, "")
	b.get(b.rest+"/v1/files/bin").wantCode(t, 404, "NOT_FOUND")
	b.get(b.rest+"/v1/files/").want(t, 200, `{"path":"/","entries":[]}`)
}

func TestFilesConditionalAndRangedReads(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.write("f", "0123456789")
	url := b.rest + "/v1/files/f"
	part := b.do(request{method: "GET", url: url, header: map[string]string{"Range": "bytes=2-4"}})
	part.want(t, 206, "234")
	if part.header.Get("Content-Range") != "bytes 2-4/10" {
		t.Errorf("Content-Range is %q", part.header.Get("Content-Range"))
	}
	b.do(request{method: "GET", url: url, header: map[string]string{"Range": "bytes=20-"}}).wantStatus(t, 416)
	stamp := part.header.Get("Last-Modified")
	b.do(request{method: "GET", url: url, header: map[string]string{"If-Modified-Since": stamp}}).wantStatus(t, 304)
	b.do(request{method: "GET", url: url, header: map[string]string{"If-Range": `"other"`, "Range": "bytes=2-4"}}).want(t, 200, "0123456789")
}

func TestFilesBadArguments(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for _, mode := range []string{"0999", "777", "abcd", "01777", "", "0644%00"} {
		b.put("f?mode="+mode, "x").wantCode(t, 400, "INVALID_ARGUMENT")
	}
	b.delete("f?recursive=banana").wantCode(t, 400, "INVALID_ARGUMENT")
	b.put("", "x").wantCode(t, 400, "INVALID_ARGUMENT")
	b.put("a%00b", "x").wantCode(t, 400, "INVALID_ARGUMENT")
	b.put(strings.Repeat("a/", 4000)+"x", "x").wantCode(t, 400, "INVALID_ARGUMENT")
	b.put(strings.Repeat("n", 300), "x").wantCode(t, 400, "INVALID_ARGUMENT")
	if err := os.Mkdir(b.file("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.put("dir", "x").wantCode(t, 400, "INVALID_ARGUMENT")
	b.delete("").wantCode(t, 409, "CONFLICT")
	b.delete("missing").wantCode(t, 404, "NOT_FOUND")
	b.do(request{method: "PATCH", url: b.rest + "/v1/files/f"}).wantStatus(t, 405)
	b.get(b.rest+"/v1/nothing").want(t, 404, "404 page not found\n")
	entries, err := os.ReadDir(b.root)
	if err != nil || len(entries) != 1 {
		t.Errorf("something was left behind: %v, %v", entries, err)
	}
}

func TestFilesRootDeleteKeepsTheDirectory(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("a/b/c", "x").wantStatus(t, 204)
	b.delete("?recursive=true").want(t, 204, "")
	b.get(b.rest+"/v1/files/").want(t, 200, `{"path":"/","entries":[]}`)
}

func TestFilesMultipart(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	form := func(names ...string) (io.Reader, string) {
		var body bytes.Buffer
		writer := multipart.NewWriter(&body)
		for i, name := range names {
			part, err := writer.CreateFormFile(name, "x")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = part.Write([]byte(strings.Repeat(name, i+1)))
		}
		writer.Close()
		return &body, writer.FormDataContentType()
	}
	body, kind := form("note", "file", "file")
	b.do(request{method: "PUT", url: b.rest + "/v1/files/m", body: body, header: map[string]string{"Content-Type": kind}}).wantStatus(t, 204)
	if b.read("m") != "filefile" {
		t.Errorf("the first part named file is not what was stored: %q", b.read("m"))
	}
	body, kind = form("note")
	b.do(request{method: "PUT", url: b.rest + "/v1/files/m2", body: body, header: map[string]string{"Content-Type": kind}}).wantCode(t, 400, "INVALID_ARGUMENT")
	cut := strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nhalf")
	b.do(request{method: "PUT", url: b.rest + "/v1/files/m3", body: cut, header: map[string]string{"Content-Type": "multipart/form-data; boundary=x"}}).wantCode(t, 400, "INVALID_ARGUMENT")
	entries, _ := os.ReadDir(b.root)
	if len(entries) != 1 {
		t.Errorf("a refused upload left something behind: %v", entries)
	}
}

func TestFilesAnAbortedUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("f", "old").wantStatus(t, 204)
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.rest, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(connection, "PUT /v1/files/f HTTP/1.1\r\nHost: x\r\nX-Sandbox-Token: "+tokenText+"\r\nContent-Length: 100\r\n\r\nhalf")
	eventually(t, "the half upload", func() bool {
		entries, _ := os.ReadDir(b.root)
		return len(entries) == 2
	})
	// Temporary files are not listed.
	if listing := b.get(b.rest + "/v1/files/"); strings.Contains(listing.body, "sandboxd-tmp") {
		t.Errorf("a temporary file is listed: %s", listing.body)
	}
	connection.Close()
	eventually(t, "the cleanup", func() bool {
		entries, _ := os.ReadDir(b.root)
		return len(entries) == 1
	})
	if b.read("f") != "old" {
		t.Errorf("the old content is gone: %q", b.read("f"))
	}
}

// The reference implementation resets the mode to 0644, deletes the target of a link, blocks on a FIFO and returns 500 for a
// path below a file.
func TestFilesBetterThanTheReference(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("run?mode=0755", "1").wantStatus(t, 204)
	b.put("run", "2").wantStatus(t, 204)
	if info, _ := os.Stat(b.file("run")); info.Mode().Perm() != 0o755 {
		t.Errorf("overwriting changed the mode to %v", info.Mode())
	}
	for link, target := range map[string]string{"link": "run", "outside": "/etc/passwd", "dangling": "nowhere"} {
		if err := os.Symlink(target, b.file(link)); err != nil {
			t.Fatal(err)
		}
		b.delete(link).want(t, 204, "")
	}
	if b.read("run") != "2" {
		t.Error("deleting a link touched its target")
	}
	if err := syscall.Mkfifo(b.file("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.get(b.rest+"/v1/files/fifo").wantCode(t, 400, "INVALID_ARGUMENT")
	b.get(b.rest+"/v1/files/run/below").wantCode(t, 404, "NOT_FOUND")
	b.put("run/below", "x").wantCode(t, 409, "CONFLICT")
}

func TestFilesPathsAreServedAsTheyCome(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("a%20b%2541", "percent").wantStatus(t, 204)
	if b.read("a b%41") != "percent" {
		t.Error("the path was not decoded exactly once")
	}
	root := strings.ReplaceAll(b.root, "/", "%2F")
	b.put(root+"%2Fabsolute", "same").wantStatus(t, 204)
	for _, path := range []string{"absolute", "%2Fabsolute", "/absolute", "./absolute", "x/../absolute", root + "%2Fabsolute"} {
		b.get(b.rest+"/v1/files/"+path).want(t, 200, "same")
	}
	b.get(b.rest+"/v1/files/"+root).wantStatus(t, 200)
	b.put(strings.TrimPrefix(root, "%2F")+"%2Frelative", "nested").wantStatus(t, 204)
	if b.read(b.root+"/relative") != "nested" {
		t.Error("a relative path that looks like the root must lie below it")
	}
}

func TestFilesConditionalWrites(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	write := func(content string, header map[string]string) answer {
		return b.do(request{method: "PUT", url: b.rest + "/v1/files/f", body: strings.NewReader(content), header: header})
	}
	write("new", map[string]string{"If-Match": `"x"`}).wantCode(t, 412, "FAILED_PRECONDITION")
	first := write("one", map[string]string{"If-None-Match": "*"})
	first.wantStatus(t, 204)
	write("two", map[string]string{"If-None-Match": "*"}).wantCode(t, 412, "FAILED_PRECONDITION")
	write("two", map[string]string{"If-Match": first.header.Get("ETag")}).wantStatus(t, 204)
	write("three", map[string]string{"If-Match": first.header.Get("ETag")}).wantCode(t, 412, "FAILED_PRECONDITION")
	if b.read("f") != "two" {
		t.Errorf("the file is %q", b.read("f"))
	}
}

func TestFilesRangedWritesAndAppend(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("f", "0123456789").wantStatus(t, 204)
	write := func(query, rng, content string) answer {
		header := map[string]string{}
		if rng != "" {
			header["Content-Range"] = rng
		}
		return b.do(request{method: "PUT", url: b.rest + "/v1/files/f" + query, body: strings.NewReader(content), header: header})
	}
	write("", "bytes 3-5/*", "abc").wantStatus(t, 204)
	write("?append=true", "", "!").wantStatus(t, 204)
	if b.read("f") != "012abc6789!" {
		t.Errorf("the file is %q", b.read("f"))
	}
	for _, bad := range []string{"bytes 5-3/*", "bytes x", "bytes 0-99999999999999999999/*", "bytes 0-9/*"} {
		write("", bad, "abc").wantCode(t, 400, "INVALID_ARGUMENT")
	}
	write("?append=true", "bytes 0-2/*", "abc").wantCode(t, 400, "INVALID_ARGUMENT")
}

// Code in the sandbox can delete the root directory. The API must then use the new one.
func TestFilesAfterTheRootWasDeleted(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("a", "1").wantStatus(t, 204)
	if err := os.RemoveAll(b.root); err != nil {
		t.Fatal(err)
	}
	b.get(b.rest+"/v1/files/").want(t, 200, `{"path":"/","entries":[]}`)
	b.put("b", "2").wantStatus(t, 204)
	if b.read("b") != "2" {
		t.Error("the file is not where its name says")
	}
	if err := errors.Join(os.RemoveAll(b.root), os.Symlink("/etc", b.root)); err != nil {
		t.Fatal(err)
	}
	if got := b.get(b.rest + "/v1/files/passwd"); got.status == 200 {
		t.Error("a link in the place of the root was followed")
	}
}
