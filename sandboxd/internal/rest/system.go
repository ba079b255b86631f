package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/ports"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/usage"
)

const longestWait = 10 * time.Minute

func (h *Handler) routeSystem(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/usage", func(w http.ResponseWriter, _ *http.Request) {
		api.WriteJSON(w, http.StatusOK, usage.Read(h.Root.Path()))
	})
	mux.HandleFunc("GET /v1/ports", func(w http.ResponseWriter, _ *http.Request) {
		list := ports.List()
		if list == nil {
			list = []ports.Port{}
		}
		api.WriteJSON(w, http.StatusOK, map[string]any{"ports": list})
	})
	mux.HandleFunc("GET /v1/ports/{port}", answer(h.portReady))
	mux.HandleFunc("POST /v1/ports/{port}/forward", answer(h.forwardPort))
}

type readiness struct {
	Port  uint16 `json:"port"`
	Ready bool   `json:"ready"`
	// Reason is the error of the last attempt.
	Reason string `json:"reason,omitempty"`
	Waited int64  `json:"waited_ms"`
}

// forwardPort makes a server that listens on loopback reachable from outside the sandbox, as long as it listens.
func (h *Handler) forwardPort(w http.ResponseWriter, r *http.Request) error {
	port, err := portOf(r)
	if err != nil {
		return err
	}
	switch err := h.forwards.Forward(port); {
	case errors.Is(err, ports.ErrClosed):
		return api.Refuse(api.NotFound, "Cannot forward port %d: %v", port, err)
	case errors.Is(err, ports.ErrTooManyOpen):
		return api.Refuse(api.Exhausted, "Cannot forward port %d: %v", port, err)
	case err != nil:
		return api.During("forward", r.PathValue("port"), err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// portReady reports whether a port accepts connections, or with http=/path whether it answers HTTP requests. With wait it
// waits for that.
func (h *Handler) portReady(w http.ResponseWriter, r *http.Request) error {
	port, err := portOf(r)
	if err != nil {
		return err
	}
	wait, err := api.Seconds(r, "wait", 0, longestWait)
	if err != nil {
		return err
	}
	path := r.URL.Query().Get("http")
	if path != "" && !strings.HasPrefix(path, "/") {
		return api.Refuse(api.InvalidArgument, "Cannot use http=%q: want a path that begins with a slash", path)
	}
	defer h.Activity.Begin()()
	began := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), max(wait, time.Second))
	defer cancel()
	answer := readiness{Port: port, Ready: true}
	if wait == 0 {
		err = ports.Try(ctx, answer.Port, path)
	} else {
		err = ports.Wait(ctx, answer.Port, path)
	}
	if err != nil {
		answer.Ready, answer.Reason = false, err.Error()
	}
	answer.Waited = time.Since(began).Milliseconds()
	api.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func portOf(r *http.Request) (uint16, error) {
	number, err := strconv.ParseUint(r.PathValue("port"), 10, 16)
	if err != nil || number == 0 {
		return 0, api.Refuse(api.InvalidArgument, "Cannot use port %q: want a number from 1 to 65535", r.PathValue("port"))
	}
	return uint16(number), nil
}
