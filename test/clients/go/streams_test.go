package clients

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	//lint:ignore SA1019 the dialers of client-go still have this type
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
)

// The server has a simulated node: `cat` echoes, `both` writes to both outputs, `fail 3` exits with 3. Its ports echo.
func (c cluster) runningPod(t *testing.T) {
	t.Helper()
	pods := c.typed.CoreV1().Pods(c.namespace)
	pod, err := pods.Create(c.ctx, c.pod("a"), metav1.CreateOptions{})
	must(t, err)
	pod.Status.Phase = corev1.PodRunning
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: true, State: state}}
	_, err = pods.UpdateStatus(c.ctx, pod, metav1.UpdateOptions{})
	must(t, err)
}

func (c cluster) subresource(name string) *url.URL {
	return c.typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(c.namespace).Name("a").SubResource(name).URL()
}

func (c cluster) execURL(stdin bool, command ...string) *url.URL {
	options := &corev1.PodExecOptions{Container: "main", Command: command, Stdin: stdin, Stdout: true, Stderr: true}
	address := c.subresource("exec")
	query, err := scheme.ParameterCodec.EncodeParameters(options, corev1.SchemeGroupVersion)
	if err != nil {
		panic(err)
	}
	address.RawQuery = query.Encode()
	return address
}

func executors(c cluster) map[string]func(*url.URL) (remotecommand.Executor, error) {
	return map[string]func(*url.URL) (remotecommand.Executor, error){
		"WebSocket": func(at *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, at.String())
		},
		"SPDY": func(at *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(c.config, http.MethodPost, at)
		},
	}
}

func TestCommandsRunOverBothProtocols(t *testing.T) {
	c := connect(t)
	c.runningPod(t)
	for name, connectTo := range executors(c) {
		t.Run(name, func(t *testing.T) {
			run := func(stdin io.Reader, command ...string) (string, string, error) {
				executor, err := connectTo(c.execURL(stdin != nil, command...))
				must(t, err)
				var stdout, stderr bytes.Buffer
				err = executor.StreamWithContext(c.ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: &stdout, Stderr: &stderr})
				return stdout.String(), stderr.String(), err
			}
			// Larger than any frame or window of either protocol.
			long := strings.Repeat("0123456789abcdef", 1<<16)
			stdout, _, err := run(strings.NewReader(long), "cat")
			must(t, err)
			if stdout != long {
				t.Errorf("received %d bytes instead of %d, or different ones", len(stdout), len(long))
			}
			stdout, stderr, err := run(nil, "both")
			must(t, err)
			if stdout != "to stdout\n" || stderr != "to stderr\n" {
				t.Errorf("got %q and %q", stdout, stderr)
			}
			_, _, err = run(nil, "fail", "3")
			if exit, isExit := err.(exec.CodeExitError); !isExit || exit.Code != 3 {
				t.Errorf("exit code 3 is reported as %#v", err)
			}
		})
	}
}

func TestPortsAreForwardedOverBothProtocols(t *testing.T) {
	c := connect(t)
	c.runningPod(t)
	address := c.subresource("portforward")
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	must(t, err)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialer(address, c.config)
	must(t, err)
	dialers := map[string]httpstream.Dialer{
		"SPDY over WebSocket": overWebSocket,
		"SPDY":                spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, address),
	}
	for name, dialer := range dialers {
		t.Run(name, func(t *testing.T) {
			stop, ready := make(chan struct{}), make(chan struct{}, 1)
			forwarder, err := portforward.New(dialer, []string{"0:80"}, stop, ready, io.Discard, io.Discard)
			must(t, err)
			ended := make(chan error, 1)
			go func() { ended <- forwarder.ForwardPorts() }()
			// The forwarder closes the channel when it is ready.
			select {
			case <-ready:
			case err := <-ended:
				t.Fatalf("not forwarded: %v", err)
			}
			ports, err := forwarder.GetPorts()
			must(t, err)
			local := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local)))
			for range 2 {
				if got := echo(t, local, "hello"); got != "hello" {
					t.Errorf("received %q", got)
				}
			}
			close(stop)
			must(t, receive(t, c, ended, "end of the forwarder"))
		})
	}
}

func echo(t *testing.T, address string, words string) string {
	t.Helper()
	connection, err := net.DialTimeout("tcp", address, patience)
	must(t, err)
	defer connection.Close()
	_, err = io.WriteString(connection, words)
	must(t, err)
	got := make([]byte, len(words))
	_, err = io.ReadFull(connection, got)
	must(t, err)
	return string(got)
}
