package daemon

import (
	"net"
	"net/http"
	"sync"
)

// silent are the connections on which nothing was ever said. A stop would wait five seconds for each, lest a request be
// on its way; who is stopping would not serve it anyway.
type silent struct {
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	stopping bool
}

// follow is told of every change of a connection's state.
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
