package rest

import (
	"net/http"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
)

// LifecyclePath is the prefix of the routes that the node calls. They are served while processes are stopped.
const LifecyclePath = "/v1/lifecycle/"

// routeEpoch reads the environment at every request: a process may ask before the node has reported a resumption.
func (h *Handler) routeEpoch(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/epoch", func(w http.ResponseWriter, _ *http.Request) {
		found := h.Lifecycle.Environment.Read()
		api.WriteJSON(w, http.StatusOK, map[string]any{
			"epoch": found.Epoch, "name": found.Name, "namespace": found.Namespace, "uid": found.UID,
		})
	})
}

func (h *Handler) routeLifecycle(mux *http.ServeMux) {
	mux.HandleFunc("POST "+LifecyclePath+"{event}", answer(func(w http.ResponseWriter, r *http.Request) error {
		event := r.PathValue("event")
		report, known := h.Lifecycle.Handle(event)
		if !known {
			return api.Refuse(api.NotFound, "Cannot handle the lifecycle event %q: it is not known", event)
		}
		api.WriteJSON(w, http.StatusOK, report)
		return nil
	}))
}
