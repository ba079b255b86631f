package test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// inMemory returns a directory in memory if the machine has one, so that many files can be created within seconds.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sandboxd-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// manyFiles is a million with SANDBOXD=long, which takes minutes under the race detector.
func manyFiles() int {
	if os.Getenv("SANDBOXD") == "long" {
		return 1_000_000
	}
	return 100_000
}

func TestManySmallFiles(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{dir: inMemory(t)})
	count := manyFiles()
	if err := os.Mkdir(b.file("many"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		if err := syscall.Mknod(fmt.Sprintf("%s/many/%08d", b.root, i), syscall.S_IFREG|0o644, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(b.get(b.rest+"/v1/files/many").body, `"name"`); got != count {
		t.Errorf("the listing has %d of %d files", got, count)
	}
	if got := strings.Count(b.get(b.rest+"/v1/tree/").body, "\n"); got != count+1 {
		t.Errorf("the tree has %d lines for %d files", got, count)
	}
	if page := b.get(b.rest + "/v1/files/many?limit=2&after=00000500"); strings.Count(page.body, `"name"`) != 2 || !strings.Contains(page.body, "00000501") {
		t.Errorf("a page is %s", page.body)
	}
	b.wantSmall(64 + count/5000)
	b.delete("many?recursive=true").want(t, 204, "")
	b.wantWorking()
}

func TestADirectoryDeeperThanAnyPath(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{
		Command: []string{"python3", "-c", "import os\nos.mkdir('deep'); os.chdir('deep')\nfor i in range(3000):\n  os.mkdir('dddddddddd'); os.chdir('dddddddddd')"},
	}})
	if err != nil || got.ExitCode != 0 {
		t.Fatalf("%s, %v", got.GetStderr(), err)
	}
	if tree := b.get(b.rest + "/v1/tree/"); !strings.Contains(tree.body, "nested deeper than") {
		t.Errorf("the tree ends with %s", tree.body[max(0, len(tree.body)-300):])
	}
	b.delete("deep?recursive=true").want(t, 204, "")
	b.get(b.rest+"/v1/files/").want(t, 200, `{"path":"/","entries":[]}`)
	b.wantWorking()
}

func TestASparseFileOfTenGiB(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	const size = 10 << 30
	file, err := os.Create(b.file("sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("end"), size-3); err != nil {
		t.Fatal(err)
	}
	file.Close()
	b.do(request{method: "GET", url: b.rest + "/v1/files/sparse", header: map[string]string{"Range": "bytes=-3"}}).want(t, 206, "end")
	b.post(b.rest+"/v1/fs/copy", map[string]any{"from": "sparse", "to": "copy"}).want(t, 204, "")
	var stat syscall.Stat_t
	if err := syscall.Stat(b.file("copy"), &stat); err != nil || stat.Size != size || stat.Blocks > 1024 {
		t.Errorf("the copy has %d bytes in %d blocks, %v", stat.Size, stat.Blocks, err)
	}
	b.do(request{method: "PUT", url: b.rest + "/v1/files/copy", body: strings.NewReader("mid"), header: map[string]string{"Content-Range": "bytes 5368709120-5368709122/*"}}).want(t, 204, "")
	b.do(request{method: "GET", url: b.rest + "/v1/files/copy", header: map[string]string{"Range": "bytes=5368709119-5368709123"}}).want(t, 206, "\x00mid\x00")
	// A client that reads a little and disconnects.
	built, _ := http.NewRequest("GET", b.rest+"/v1/archive/sparse", nil)
	response, err := authenticated(http.DefaultClient, tokenText).Do(built)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, response.Body, 64<<20); err != nil {
		t.Errorf("read %d: %v", n, err)
	}
	response.Body.Close()
	b.wantSmall(64)
	b.wantWorking()
}

func TestHugeUploadIsStreamed(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	const size = 300 << 20
	got := b.do(request{method: "PUT", url: b.rest + "/v1/files/big", body: io.LimitReader(zeros{}, size)})
	got.want(t, 204, "")
	b.wantSmall(64)
	if info, err := os.Stat(b.file("big")); err != nil || info.Size() != size {
		t.Errorf("stored %v, %v", info, err)
	}
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }
