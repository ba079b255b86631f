package daemon

import (
	"net"
	"sync"
)

// limited is a listener that accepts a connection only while fewer than its capacity are open.
type limited struct {
	net.Listener
	open   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limitConnections(listener net.Listener, most int) net.Listener {
	return &limited{Listener: listener, open: make(chan struct{}, most), closed: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	connection, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	return &counted{Conn: connection, release: sync.OnceFunc(func() { <-l.open })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
