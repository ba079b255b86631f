package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/environment"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/gate"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/rest"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

const (
	headerTimeout  = 10 * time.Second
	maxHeaderBytes = 64 << 10
	// maxConnections is the limit per listener. More connections wait in the kernel's queue.
	maxConnections = 1024
	// maxStreams is the limit of concurrent HTTP/2 streams per connection.
	maxStreams = 512
	// pingAfter detects peers that have vanished, so that the processes they started are ended.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

type server struct {
	*http.Server
	listener net.Listener
	silent   *silent
}

func (c *Config) newServer(handler http.Handler, listener net.Listener) *server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	silent := &silent{conns: map[net.Conn]struct{}{}}
	server := &server{listener: limitConnections(listener, maxConnections), silent: silent}
	server.Server = &http.Server{
		Handler: handler, Protocols: protocols, ConnState: silent.follow,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: c.IdleTimeout, MaxHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	return server
}

func (c *Config) listen(port uint, handler http.Handler) (*server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(c.Host, strconv.Itoa(int(port))))
	if err != nil {
		return nil, fmt.Errorf("cannot listen on port %d: %w", port, err)
	}
	return c.newServer(handler, listener), nil
}

// openSocket listens on the unix socket for processes in the sandbox. All users may connect, because every process in the
// sandbox may keep it awake. If no default path is writable, there is no socket; a path that was configured must work.
func (c *Config) openSocket() (net.Listener, error) {
	candidates := []string{c.Socket}
	if c.Socket == "" {
		candidates = []string{"/run/sandboxd.sock", "/tmp/sandboxd.sock"}
	}
	var failure error
	for _, path := range candidates {
		listener, err := listenUnix(path)
		if err == nil {
			c.Socket = path
			return listener, nil
		}
		failure = errors.Join(failure, err)
	}
	if c.Socket != "" {
		return nil, fmt.Errorf("cannot open the socket: %w", failure)
	}
	slog.Warn("cannot create the socket for keep-awake leases", "error", failure.Error())
	return nil, nil
}

func listenUnix(path string) (net.Listener, error) {
	// Left over from an earlier run.
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		_ = os.Remove(path)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

func (s *server) serve() {
	if err := s.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		panic(err)
	}
}

// stop lets requests finish until the context ends, then closes all connections.
func (s *server) stop(ctx context.Context) {
	s.silent.close()
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
}

// accessCheck accepts requests that are meant for this sandbox and carry its token. Health checks need no token. While
// processes are stopped for a snapshot, requests wait, and are checked afterwards: in a fork the token is another one.
type accessCheck struct {
	guard *token.Guard
	known *environment.Source
	gate  *gate.Gate
}

// hold makes requests wait while processes are stopped.
func (a accessCheck) hold(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.gate.Pass(r.Context()) == nil {
			handler.ServeHTTP(w, r)
		}
	})
}

func (a accessCheck) check(header http.Header) (connect.Code, error) {
	identity := a.known.Identity()
	if err := identity.CheckUID(header); err != nil {
		return connect.CodeFailedPrecondition, err
	}
	if err := a.guard.Check(header); err != nil {
		return connect.CodeUnauthenticated, err
	}
	if err := identity.CheckNames(header); err != nil {
		return connect.CodeFailedPrecondition, err
	}
	return 0, nil
}

// wrap checks the requests to a handler. health is the path of its health check; refuse writes an error in the format of
// its API.
func (a accessCheck) wrap(health string, handler http.Handler, refuse func(http.ResponseWriter, int, error)) http.Handler {
	checked := a.checked(handler, refuse)
	held := a.hold(checked)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == health && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			handler.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, rest.LifecyclePath):
			// Tells a fork from its source before anything else has changed in it.
			_ = a.guard.Refresh()
			checked.ServeHTTP(w, r)
		default:
			held.ServeHTTP(w, r)
		}
	})
}

func (a accessCheck) checked(handler http.Handler, refuse func(http.ResponseWriter, int, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, err := a.check(r.Header)
		switch {
		case err == nil:
			handler.ServeHTTP(w, r)
		case code == connect.CodeUnauthenticated:
			w.Header().Set("WWW-Authenticate", `Bearer realm="sandbox"`)
			refuse(w, http.StatusUnauthorized, err)
		default:
			refuse(w, http.StatusMisdirectedRequest, err)
		}
	})
}

func refuseREST(w http.ResponseWriter, status int, err error) {
	code := api.Unauthenticated
	if status == http.StatusMisdirectedRequest {
		code = api.Misdirected
	}
	api.WriteError(w, api.Refuse(code, "%v", err))
}

func refuseLegacy(w http.ResponseWriter, status int, err error) {
	api.WriteJSON(w, status, map[string]string{"detail": err.Error()})
}
