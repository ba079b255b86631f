package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/once"
)

// kept is a response that is sent again when its request is repeated.
type kept struct {
	status int
	header http.Header
	body   []byte
}

func (k kept) cost() int { return len(k.body) }

// isOnce reports whether a repeated request with the same X-Request-ID is executed only once: changes of files and contexts, except
// those with a streamed body or response. A streamed write of a file has the same effect if it is repeated.
func isOnce(r *http.Request) bool {
	if r.Header.Get("X-Request-ID") == "" || r.Method != http.MethodDelete && r.Method != http.MethodPost {
		return false
	}
	stream, _ := api.Flag(r, "stream")
	return !stream && slices.ContainsFunc([]string{"/v1/files/", "/v1/fs/", "/v1/contexts"}, func(prefix string) bool {
		return strings.HasPrefix(r.URL.Path, prefix)
	})
}

// serveOnce executes a request, or sends the response of the same request again.
func (h *Handler) serveOnce(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxJSONBytes))
	if err != nil {
		api.WriteError(w, api.During("read", "the body", err))
		return
	}
	digest := sha256.Sum256(body)
	key := r.Header.Get("X-Request-ID") + "\x00" + r.Method + "\x00" + r.URL.RequestURI() + "\x00" + string(digest[:])
	if !h.repeated.Knows(key) && once.MayPrecede(r.Header, h.started) {
		api.WriteError(w, api.Refuse(api.OutcomeUnknown, "The sandbox has restarted since the first attempt, which may have been executed"))
		return
	}
	response, err := h.repeated.Do(r.Context(), key, func(ctx context.Context) kept {
		request := r.Clone(ctx)
		request.Body = io.NopCloser(bytes.NewReader(body))
		recorder := &recorder{header: http.Header{}}
		serve(recorder, request)
		return recorder.kept()
	})
	if err != nil {
		// The client has disconnected.
		return
	}
	maps.Copy(w.Header(), response.header)
	w.WriteHeader(response.status)
	_, _ = w.Write(response.body)
}

// recorder is a ResponseWriter that keeps the response.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(data)
}

func (r *recorder) kept() kept {
	r.WriteHeader(http.StatusOK)
	return kept{status: r.status, header: r.header, body: r.body.Bytes()}
}
