package test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const secretText = "nobody may read this"

// outside creates a directory next to the root whose name has the root's name as a prefix.
func outside(t *testing.T, b *box) string {
	t.Helper()
	dir := b.root + "-evil"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(secretText), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPathsThatLeaveTheRoot(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	dir := outside(t, b)
	for link, target := range map[string]string{
		"absolute": dir, "relative": "../" + filepath.Base(dir), "chain": "absolute", "up": "..", "loop": "loop",
	} {
		if err := os.Symlink(target, b.file(link)); err != nil {
			t.Fatal(err)
		}
	}
	b.write("file", "x")
	paths := []string{
		"..", "%2e%2e", "%2e%2e%2fetc%2fpasswd", "../etc/passwd", "a/../../etc", "..%2F" + filepath.Base(dir) + "%2Fsecret",
		"absolute/secret", "relative/secret", "chain/secret", "up/" + filepath.Base(dir) + "/secret", "loop", "loop/x",
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
			if method == "DELETE" && !strings.Contains(path, "/") && !strings.Contains(path, "%") && path != ".." {
				// Deletes the link, which is inside.
				continue
			}
			got := b.do(request{method: method, url: b.rest + "/v1/files/" + path, body: strings.NewReader("x")})
			if got.status != 403 {
				t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
			}
		}
		for _, route := range []string{"/v1/stat/", "/v1/tree/", "/v1/archive/", "/v1/watch/"} {
			if got := b.get(b.rest + route + path); got.status != 403 {
				t.Errorf("GET %s%s: %d %s", route, path, got.status, got.body)
			}
		}
		for _, route := range []string{"/download/", "/list/", "/exists/"} {
			if got := b.get(b.legacy + route + path); got.status != 403 || got.body != `{"message":"Access denied"}` {
				t.Errorf("GET %s%s: %d %s", route, path, got.status, got.body)
			}
		}
	}
	b.post(b.rest+"/v1/fs/move", map[string]any{"from": "file", "to": "absolute/stolen"}).wantCode(t, 403, "PERMISSION_DENIED")
	b.post(b.rest+"/v1/fs/copy", map[string]any{"from": "absolute/secret", "to": "stolen"}).wantCode(t, 403, "PERMISSION_DENIED")
	b.post(b.rest+"/v1/fs/chmod", map[string]any{"path": "absolute/secret", "mode": "0777"}).wantCode(t, 403, "PERMISSION_DENIED")
	b.post(b.rest+"/v1/fs/mkdir", map[string]any{"path": "../new"}).wantCode(t, 403, "PERMISSION_DENIED")
	listing := b.get(b.rest + "/v1/files/")
	if strings.Contains(listing.body, "absolute") || strings.Contains(listing.body, "loop") || !strings.Contains(listing.body, `"file"`) {
		t.Errorf("links that lead outside are listed: %s", listing.body)
	}
	content, err := os.ReadFile(filepath.Join(dir, "secret"))
	if entries, _ := os.ReadDir(dir); err != nil || string(content) != secretText || len(entries) != 1 {
		t.Error("something outside the root was changed")
	}
}

func TestLinksThatStayInsideWork(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("dir/file", "1").wantStatus(t, 204)
	for link, target := range map[string]string{
		"plain": "dir/file", "absolute": filepath.Join(b.root, "dir"), "dir/up": "../dir/file", "new": "dir/fresh",
	} {
		if err := os.Symlink(target, b.file(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"plain", "absolute/file", "dir/up"} {
		b.get(b.rest+"/v1/files/"+path).want(t, 200, "1")
	}
	b.put("plain", "2").wantStatus(t, 204)
	b.put("new", "3").wantStatus(t, 204)
	if b.read("dir/file") != "2" || b.read("dir/fresh") != "3" {
		t.Error("writing through a link does not reach its target")
	}
	if info, err := os.Lstat(b.file("plain")); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Error("writing through a link replaced the link")
	}
	listing := b.get(b.rest + "/v1/files/").body
	if !strings.Contains(listing, `{"name":"absolute","size":`) || !strings.Contains(listing, `"type":"directory"`) {
		t.Errorf("links to what is inside are not listed as their targets: %s", listing)
	}
}

// A directory is continuously replaced by a link to the outside while files are read and written.
func TestSymlinkRace(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	dir := outside(t, b)
	if err := os.MkdirAll(b.file("real"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.write("real/secret", "inside")
	if err := os.Symlink(dir, b.file("evil")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	swapped := make(chan struct{})
	var swaps atomic.Int64
	go func() {
		defer close(swapped)
		for ctx.Err() == nil {
			_ = os.Rename(b.file("real"), b.file("now"))
			_ = os.Rename(b.file("now"), b.file("real"))
			_ = os.Rename(b.file("evil"), b.file("now"))
			_ = os.Rename(b.file("now"), b.file("evil"))
			swaps.Add(1)
		}
	}()
	reads := 0
	for ctx.Err() == nil {
		if got := b.get(b.rest + "/v1/files/now/secret"); strings.Contains(got.body, secretText) {
			t.Fatal("a file outside the root was read")
		} else if got.status == 200 {
			reads++
		}
		b.put("now/secret", "inside")
		b.do(request{method: "PUT", url: b.rest + "/v1/files/now/secret?append=true", body: strings.NewReader("x")})
		b.delete("now/other?recursive=true")
		b.post(b.legacy+"/execute", map[string]string{"command": "true"})
	}
	<-swapped
	if swaps.Load() < 100 || reads == 0 {
		t.Errorf("the race did not take place: %d swaps, %d reads", swaps.Load(), reads)
	}
	content, err := os.ReadFile(filepath.Join(dir, "secret"))
	if entries, _ := os.ReadDir(dir); err != nil || string(content) != secretText || len(entries) != 1 {
		t.Error("something outside the root was changed")
	}
}

func archiveOf(t *testing.T, headers ...*tar.Header) io.Reader {
	t.Helper()
	var body bytes.Buffer
	writer := tar.NewWriter(&body)
	for _, header := range headers {
		content := "content of " + header.Name
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(content))
		}
		header.Mode = 0o640
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			_, _ = io.WriteString(writer, content)
		}
	}
	writer.Close()
	return &body
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	dir := outside(t, b)
	for name, headers := range map[string][]*tar.Header{
		"climbs":            {{Name: "../evil", Typeflag: tar.TypeReg}},
		"through a link":    {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: dir}, {Name: "l/x", Typeflag: tar.TypeReg}},
		"relative link":     {{Name: "l2", Typeflag: tar.TypeSymlink, Linkname: "../.."}, {Name: "l2/x", Typeflag: tar.TypeReg}},
		"hard link outside": {{Name: "h", Typeflag: tar.TypeLink, Linkname: "../../" + filepath.Base(dir) + "/secret"}},
		"a device":          {{Name: "d", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
	} {
		got := b.do(request{method: "PUT", url: b.rest + "/v1/archive/into", body: archiveOf(t, headers...)})
		if got.status != 403 && got.status != 400 && got.status != 404 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	b.do(request{method: "PUT", url: b.rest + "/v1/archive/into", body: strings.NewReader("no archive at all")}).wantCode(t, http.StatusBadRequest, "INVALID_ARGUMENT")
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Error("an archive wrote outside the root")
	}
}
