package ports

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	firstPause = 10 * time.Millisecond
	mostPause  = 200 * time.Millisecond
	// attempt is the timeout of one attempt. A listener that accepts and does not answer is not ready.
	attempt = 2 * time.Second
)

// Wait waits until the port accepts connections, or with a path until it answers HTTP with a status below 500. It returns
// the error of the last attempt.
func Wait(ctx context.Context, port uint16, path string) error {
	var last error
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		if last = Try(ctx, port, path); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(pause):
		}
	}
}

// Try makes one attempt on both loopback addresses.
func Try(ctx context.Context, port uint16, path string) error {
	number := strconv.Itoa(int(port))
	err := try(ctx, net.JoinHostPort("127.0.0.1", number), path)
	if err != nil && try(ctx, net.JoinHostPort("::1", number), path) == nil {
		return nil
	}
	return err
}

func try(ctx context.Context, address, path string) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if path == "" {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			connection.Close()
		}
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	response, err := probe.RoundTrip(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

// probe does not follow redirects or keep connections.
var probe = &http.Transport{DisableKeepAlives: true, Proxy: nil}
