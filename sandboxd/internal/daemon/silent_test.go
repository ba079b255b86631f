package daemon

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// isClosed does not wait: with a deadline in the past, reading from an open pipe returns a timeout.
func isClosed(conn net.Conn) bool {
	return conn.SetReadDeadline(time.Unix(1, 0)) != nil
}

func TestAStopClosesSilentConnectionsOnly(t *testing.T) {
	pipe := func() net.Conn {
		conn, other := net.Pipe()
		t.Cleanup(func() { conn.Close(); other.Close() })
		return conn
	}
	s := &silent{conns: map[net.Conn]struct{}{}}
	quiet, talking, gone, late := pipe(), pipe(), pipe(), pipe()
	for _, conn := range []net.Conn{quiet, talking, gone} {
		s.follow(conn, http.StateNew)
	}
	s.follow(talking, http.StateActive)
	s.follow(gone, http.StateClosed)
	if len(s.conns) != 1 {
		t.Errorf("%d connections are taken for silent", len(s.conns))
	}
	s.close()
	s.follow(late, http.StateNew)
	if !isClosed(quiet) || !isClosed(late) || isClosed(talking) {
		t.Errorf("closed are: a silent one %v, a late one %v, one that talks %v", isClosed(quiet), isClosed(late), isClosed(talking))
	}
}
