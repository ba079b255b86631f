package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// portForward is the protocol of Kubernetes for connections to the ports of a Pod.
const portForward = "portforward.k8s.io"

// tunnel carries connections to the ports of one Pod through the API server. It listens on no port, so other programs on this machine
// cannot use it.
type tunnel struct {
	dial func(context.Context) (httpstream.Connection, error)
	// transport sends requests through the tunnel, http2 those of gRPC.
	transport, http2 *http.Transport

	mu         sync.Mutex
	connection httpstream.Connection
	users      int
	opened     int
}

// tunnelTo returns a tunnel to the Pod that find names.
func (a *apiServer) tunnelTo(find func(context.Context) (namespace, pod string, err error)) *tunnel {
	t := &tunnel{transport: newTransport(), http2: newTransport()}
	t.transport.DialContext, t.http2.DialContext = t.open, t.open
	t.http2.Protocols = &http.Protocols{}
	t.http2.Protocols.SetUnencryptedHTTP2(true)
	t.dial = func(ctx context.Context) (httpstream.Connection, error) {
		namespace, pod, err := find(ctx)
		if err != nil {
			return nil, err
		}
		transport, upgrader, err := spdy.RoundTripperFor(a.config)
		if err != nil {
			return nil, err
		}
		path := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods/" + url.PathEscape(pod) + "/portforward"
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server+path, nil)
		if err != nil {
			return nil, err
		}
		connection, protocol, err := spdy.NegotiateStreaming(upgrader, httpClient(transport), request, portForward)
		if err != nil {
			return nil, &Error{Reason: Unreachable, Message: fmt.Sprintf("Cannot forward ports of Pod %q: %v", pod, err), cause: err}
		}
		if protocol != portForward {
			_ = connection.Close()
			return nil, failf(Unsupported, "Cannot forward ports of Pod %q: the server chose protocol %q", pod, protocol)
		}
		return connection, nil
	}
	return t
}

// join connects the tunnel if it is not. The channel is closed when the connection has ended. Every join needs a leave.
func (t *tunnel) join(ctx context.Context) (<-chan bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.connection == nil || hasClosed(t.connection) {
		connection, err := t.dial(ctx)
		if err != nil {
			return nil, err
		}
		t.connection = connection
	}
	t.users++
	return t.connection.CloseChan(), nil
}

// leave closes the connection when nobody uses it.
func (t *tunnel) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users--; t.users > 0 {
		return
	}
	t.transport.CloseIdleConnections()
	t.http2.CloseIdleConnections()
	if t.connection != nil {
		_ = t.connection.Close()
		t.connection = nil
	}
}

func hasClosed(connection httpstream.Connection) bool {
	select {
	case <-connection.CloseChan():
		return true
	default:
		return false
	}
}

// open opens a connection to a port of the Pod. The address is host:port; only the port counts.
func (t *tunnel) open(_ context.Context, _, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	connection := t.connection
	t.opened++
	header := http.Header{"Port": {port}, "Requestid": {strconv.Itoa(t.opened)}}
	t.mu.Unlock()
	if connection == nil || hasClosed(connection) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ErrPortForwardDied}
	}
	header.Set("Streamtype", "error")
	failures, err := connection.CreateStream(header)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	// The server reads nothing from this stream.
	_ = failures.Close()
	header.Set("Streamtype", "data")
	data, err := connection.CreateStream(header)
	if err != nil {
		connection.RemoveStreams(failures)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	opened := &tunnelConn{Stream: data, close: func() {
		_ = data.Reset()
		connection.RemoveStreams(failures, data)
	}}
	go opened.watch(failures)
	return opened, nil
}

// tunnelConn is a connection to a port of a Pod.
type tunnelConn struct {
	httpstream.Stream
	close  func()
	once   sync.Once
	mu     sync.Mutex
	failed error
}

// watch ends the connection when the server reports a failure, for example that nothing listens on the port.
func (c *tunnelConn) watch(failures io.Reader) {
	message, err := io.ReadAll(io.LimitReader(failures, maxErrorBody))
	if len(message) == 0 {
		return
	}
	c.mu.Lock()
	c.failed = errors.Join(fmt.Errorf("port-forward: %s", message), err)
	c.mu.Unlock()
	_ = c.Close()
}

func (c *tunnelConn) Read(buffer []byte) (int, error) {
	count, err := c.Stream.Read(buffer)
	return count, c.why(err)
}

func (c *tunnelConn) Write(data []byte) (int, error) {
	count, err := c.Stream.Write(data)
	return count, c.why(err)
}

func (c *tunnelConn) why(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.failed != nil {
		return c.failed
	}
	return err
}

func (c *tunnelConn) Close() error {
	c.once.Do(c.close)
	return nil
}

// A stream has no address, and requests end by closing their connection, not by deadlines.
func (*tunnelConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*tunnelConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*tunnelConn) SetDeadline(time.Time) error      { return nil }
func (*tunnelConn) SetReadDeadline(time.Time) error  { return nil }
func (*tunnelConn) SetWriteDeadline(time.Time) error { return nil }
