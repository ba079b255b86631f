package ports

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

const (
	maxForwards = 64
	// forwardCheck is how often a forward checks that its server still listens on loopback.
	forwardCheck = time.Second
)

// Errors of Forward.
var (
	ErrClosed      = errors.New("nothing listens on the port")
	ErrTooManyOpen = errors.New("too many ports are forwarded")
)

// Forwards makes servers that listen on loopback reachable from outside the sandbox. A forward ends with its server.
type Forwards struct {
	mu   sync.Mutex
	open map[uint16]bool
}

// Forward listens on the other addresses of the sandbox for a server that listens on loopback only. It does nothing if the server can be
// reached from outside.
func (f *Forwards) Forward(port uint16) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[port] {
		return nil
	}
	loopback, outside := listeners(port)
	switch {
	case outside:
		return nil
	case loopback == "":
		return ErrClosed
	case len(f.open) >= maxForwards:
		return ErrTooManyOpen
	}
	opened, err := listenOutside(port)
	if err != nil {
		return err
	}
	if f.open == nil {
		f.open = map[uint16]bool{}
	}
	f.open[port] = true
	target := net.JoinHostPort(loopback, strconv.Itoa(int(port)))
	for _, listener := range opened {
		go serve(listener, target)
	}
	go f.closeWithServer(port, opened)
	return nil
}

// listeners returns the loopback address on which a server listens, and whether one listens on another address.
func listeners(port uint16) (loopback string, outside bool) {
	for _, found := range scan() {
		if found.Port != port {
			continue
		}
		address, err := netip.ParseAddr(found.Address)
		if err != nil {
			continue
		}
		if address.IsLoopback() {
			loopback = found.Address
		} else {
			outside = true
		}
	}
	return loopback, outside
}

// listenOutside listens on each address that is not loopback. It fails if there is none.
func listenOutside(port uint16) ([]net.Listener, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var opened []net.Listener
	failure := errors.New("the sandbox has no address")
	for _, address := range addresses {
		network, ok := address.(*net.IPNet)
		if !ok || network.IP.IsLoopback() || network.IP.IsLinkLocalUnicast() {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(network.IP.String(), strconv.Itoa(int(port))))
		if err != nil {
			failure = err
			continue
		}
		opened = append(opened, listener)
	}
	if len(opened) == 0 {
		return nil, failure
	}
	return opened, nil
}

func (f *Forwards) closeWithServer(port uint16, opened []net.Listener) {
	for {
		time.Sleep(forwardCheck)
		if loopback, _ := listeners(port); loopback == "" {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, listener := range opened {
		listener.Close()
	}
	delete(f.open, port)
}

func serve(listener net.Listener, target string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go relay(connection, target)
	}
}

func relay(client net.Conn, target string) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", target, attempt)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pump(server, client)
	}()
	pump(client, server)
	<-done
}

// pump copies until the end, and passes the end on.
func pump(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
