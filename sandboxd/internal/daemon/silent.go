package daemon

import (
	"net"
	"net/http"
	"sync"
)

// silent tracks connections that have not sent anything. http.Server.Shutdown would wait five seconds for a request on
// them. They are closed instead, since a request would not be served any more.
type silent struct {
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	stopping bool
}

// follow is the ConnState callback of the server.
func (s *silent) follow(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, conn)
	case s.stopping:
		conn.Close()
	default:
		s.conns[conn] = struct{}{}
	}
}

func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for conn := range s.conns {
		conn.Close()
	}
}
