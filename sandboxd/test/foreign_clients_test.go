package test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// parts returns a multipart body whose files have these names and contents, and its content type.
func parts(files ...[2]string) (string, map[string]string) {
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for _, file := range files {
		header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + file[0] + `"`}}
		part, _ := writer.CreatePart(header)
		_, _ = part.Write([]byte(file[1]))
	}
	writer.Close()
	return body.String(), map[string]string{"Content-Type": writer.FormDataContentType()}
}

func (b *box) uploadParts(query string, files ...[2]string) answer {
	body, headers := parts(files...)
	return b.do(request{method: "POST", url: b.rest + "/v1/uploads?" + query, body: strings.NewReader(body), header: headers})
}

func TestUploadsWriteSeveralFiles(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.uploadParts("base=/home", [2]string{"a/b.txt", "one"}, [2]string{"/c.txt", "two"}).want(t, 200, `{"files":["/home/a/b.txt","/c.txt"]}`)
	b.get(b.rest+"/v1/files/home/a/b.txt").want(t, 200, "one")
	b.get(b.rest+"/v1/files/c.txt").want(t, 200, "two")
	b.uploadParts("path=/named", [2]string{"ignored", "three"}).want(t, 200, `{"files":["/named"]}`)
	b.get(b.rest+"/v1/files/named").want(t, 200, "three")
}

func TestUploadsRefuseWhatIsAmbiguous(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.uploadParts("", [2]string{"twice", "first"}, [2]string{"./twice", "second"}).wantCode(t, 400, "INVALID_ARGUMENT")
	b.get(b.rest+"/v1/files/twice").want(t, 200, "first")
	b.uploadParts("", [2]string{"../../outside", "x"}).wantCode(t, 403, "PERMISSION_DENIED")
	b.uploadParts("", [2]string{"", "x"}).wantCode(t, 400, "INVALID_ARGUMENT")
	b.uploadParts("user=nobody-of-that-name", [2]string{"a", "x"}).wantCode(t, 400, "INVALID_ARGUMENT")
	b.put("plain?user=0:x", "x").wantCode(t, 400, "INVALID_ARGUMENT")
	if _, err := os.Stat(filepath.Join(b.root, "../../outside")); err == nil {
		t.Error("a file outside the root was written")
	}
}

func TestFilesBelongToTheNamedUser(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{wrap: containerRights})
	b.put("deep/file?user=65534", "x").want(t, 204, "")
	b.put("own", "x").want(t, 204, "")
	for name, owner := range map[string]int{"deep": nobody, "deep/file": nobody, "own": 0} {
		if got := ownerOf(t, b.file(name)); got != owner {
			t.Errorf("%s belongs to %d, want %d", name, got, owner)
		}
	}
}

func TestAUserIsCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The daemon sees copies of these files, so that the machine's own stay as they are.
	for _, name := range []string{"passwd", "group"} {
		content, err := os.ReadFile("/etc/" + name)
		if err != nil || os.WriteFile(filepath.Join(dir, name), content, 0o644) != nil {
			t.Fatal(err)
		}
	}
	mounts := "mount --bind " + dir + "/passwd /etc/passwd && mount --bind " + dir + "/group /etc/group && mount -t tmpfs none /home && exec \"$@\""
	if exec.Command("unshare", "--mount", "true").Run() != nil {
		t.Skip("needs mount namespaces")
	}
	b := start(t, boxOptions{wrap: []string{"unshare", "--mount", "sh", "-c", mounts, "sh"}, env: []string{"SANDBOXD_ENSURE_USER=visitor"}})
	passwd, _ := os.ReadFile(filepath.Join(dir, "passwd"))
	if strings.Count(string(passwd), "\nvisitor:x:") != 1 {
		t.Fatalf("the user is not there once: %s", passwd)
	}
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("id -un; echo $HOME; stat -c %U $HOME")})
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Stdout) != "visitor\n/home/visitor\nvisitor\n" {
		t.Errorf("got %q, %q", got.Stdout, got.Stderr)
	}
}

func TestContextsHaveNamesAndVariables(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for _, language := range []string{"python", "javascript"} {
		create := map[string]string{"language": language, "name": "mine-" + language}
		if created := b.post(b.rest+"/v1/contexts", create); created.status == 412 {
			t.Skipf("needs an interpreter for %s", language)
		}
		b.post(b.rest+"/v1/contexts", create).wantCode(t, 409, "CONFLICT")
		url := b.rest + "/v1/contexts/mine-" + language
		code := map[string]string{"python": "import os; os.environ.get('ADDED')", "javascript": "process.env.ADDED"}[language]
		with := b.post(url+"/execute", map[string]any{"code": code, "env": map[string]string{"ADDED": "yes"}})
		if with.status != 200 || !strings.Contains(with.body, "'yes'") {
			t.Errorf("%s does not see the variable: %s", language, with.body)
		}
		if without := b.post(url+"/execute", map[string]any{"code": code}); strings.Contains(without.body, "'yes'") {
			t.Errorf("%s still sees the variable: %s", language, without.body)
		}
		b.do(request{method: "DELETE", url: url}).want(t, 204, "")
		b.post(b.rest+"/v1/contexts", create).wantStatus(t, 201)
	}
}

func TestAServerOnLoopbackIsForwarded(t *testing.T) {
	t.Parallel()
	// In a network of its own, with an address besides loopback.
	setup := "ip link set lo up && ip link add dummy0 type dummy && ip address add 10.9.8.7/24 dev dummy0 && ip link set dummy0 up && exec \"$@\""
	if exec.Command("unshare", "--net", "sh", "-c", "ip link set lo up && ip link add dummy0 type dummy").Run() != nil {
		t.Skip("needs network namespaces and dummy interfaces")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "probe.py")
	if err := os.WriteFile(script, []byte(forwardProbe), 0o644); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(tokenText), 0o400); err != nil {
		t.Fatal(err)
	}
	words := []string{"--net", "sh", "-c", setup, "sh", program, "run", "--root-dir=" + dir, "--socket=" + dir + "/s", "--environment-file=" + dir + "/e", "--", "python3", script}
	command := exec.Command("unshare", words...)
	command.Env = append(os.Environ(), "SANDBOXD_TOKEN_FILE="+token, "PROBE_TOKEN="+tokenText)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

// forwardProbe is the supervised command: it asks the daemon to forward ports and connects to them from outside of loopback.
const forwardProbe = `
import os, socket, time, urllib.error, urllib.request

def forward(port):
    request = urllib.request.Request("http://127.0.0.1:8080/v1/ports/%s/forward" % port, method="POST", headers={"X-Sandbox-Token": os.environ["PROBE_TOKEN"]})
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code

for _ in range(200):
    if forward(1) in (404,):
        break
    time.sleep(0.02)
assert forward(3000) == 404, forward(3000)
assert forward("x") == 400
server = socket.create_server(("127.0.0.1", 3000))
assert forward(3000) == 204
assert forward(3000) == 204
client = socket.create_connection(("10.9.8.7", 3000))
client.sendall(b"ping")
accepted, _ = server.accept()
assert accepted.recv(4) == b"ping"
accepted.sendall(b"pong")
accepted.close()
assert client.recv(4) == b"pong"
assert client.recv(1) == b""
client.close()
server.close()
for _ in range(500):
    try:
        socket.create_connection(("10.9.8.7", 3000)).close()
        time.sleep(0.02)
    except ConnectionRefusedError:
        break
else:
    raise SystemExit("the forward did not end with its server")
# The port is free for a server that listens everywhere, which needs no forward.
everywhere = socket.create_server(("0.0.0.0", 3000))
assert forward(3000) == 204
socket.create_connection(("10.9.8.7", 3000)).close()
`

func TestContextsShowLikeNotebooks(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	s := b.context("python")
	code := "from IPython.display import HTML, JSON, Image, display\ndisplay(HTML('<b>x</b>'), Image(b'\\x89PNG'))\nJSON({'a': 1})"
	got := s.run(code, 0)
	want := []map[string]any{{"text/html": "<b>x</b>"}, {"image/png": "iVBORw=="}, {"application/json": map[string]any{"a": 1.0}}}
	if got.Error != nil || len(got.Results) != len(want) {
		t.Fatalf("got %+v, %+v", got.Results, got.Error)
	}
	for i, data := range want {
		for mime, content := range data {
			if fmt.Sprint(got.Results[i][mime]) != fmt.Sprint(content) {
				t.Errorf("result %d is %v, want %v", i, got.Results[i], data)
			}
		}
	}
}
