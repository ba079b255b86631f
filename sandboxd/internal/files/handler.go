// Package files serves the files below the root directory.
package files

import (
	"net/http"
	"strings"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/activity"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// Handler serves the files API.
type Handler struct {
	root     *confine.Root
	activity *activity.Tracker
	watches  chan struct{}
}

// New returns a handler for the files below root.
func New(root *confine.Root, tracker *activity.Tracker) *Handler {
	return &Handler{root: root, activity: tracker, watches: make(chan struct{}, maxWatchers)}
}

// route handles one method of one path.
type route func(h *Handler, w http.ResponseWriter, r *http.Request, path string) error

// byPath are the routes with a file name in the URL path. They do not use http.ServeMux, because that redirects paths with
// "//" or dots.
var byPath = map[string]map[string]route{
	"files":   {"GET": (*Handler).get, "HEAD": (*Handler).get, "PUT": (*Handler).put, "DELETE": (*Handler).delete},
	"stat":    {"GET": (*Handler).stat},
	"tree":    {"GET": (*Handler).tree},
	"watch":   {"GET": (*Handler).watch},
	"archive": {"GET": (*Handler).pack, "PUT": (*Handler).unpack},
}

// byAction are the routes with file names in a JSON body.
var byAction = map[string]route{
	"/v1/fs/mkdir":      (*Handler).mkdir,
	"/v1/fs/move":       (*Handler).move,
	"/v1/fs/copy":       (*Handler).copy,
	"/v1/fs/chmod":      (*Handler).chmod,
	"/v1/fs/attributes": (*Handler).setAttributes,
	"/v1/uploads":       (*Handler).upload,
}

// Serve handles a request of the files API. It returns false for other requests.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request) bool {
	if serve, ok := byAction[r.URL.Path]; ok {
		h.serve(w, r, map[string]route{"POST": serve}, "")
		return true
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	if !ok {
		return false
	}
	kind, path, _ := strings.Cut(rest, "/")
	methods, ok := byPath[kind]
	if ok {
		h.serve(w, r, methods, path)
	}
	return ok
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, methods map[string]route, path string) {
	serve, ok := methods[r.Method]
	if !ok {
		api.MethodNotAllowed(w, methods)
		return
	}
	defer h.activity.Begin()()
	acting, err := h.actingFor(r)
	if err == nil {
		err = serve(acting, w, r, path)
	}
	if err != nil {
		api.WriteError(w, err)
	}
}

// actingFor returns a handler whose new files belong to the user that the query names. Default: the daemon's default user.
func (h *Handler) actingFor(r *http.Request) (*Handler, error) {
	user := r.URL.Query().Get("user")
	if user == "" {
		return h, nil
	}
	who, err := process.LookupAccount(user)
	if err != nil {
		return nil, api.Refuse(api.InvalidArgument, "Cannot use user=%q: %v", user, err)
	}
	acting := *h
	acting.root = h.root.As(confine.Owner{UID: int(who.Credential.Uid), GID: int(who.Credential.Gid)})
	return &acting, nil
}

// locate finds the entry for a path from a request.
func (h *Handler) locate(action, path string, how confine.Lookup) (*confine.Entry, error) {
	rel, err := h.root.Rel(path)
	if err != nil {
		return nil, api.During(action, path, err)
	}
	entry, err := h.root.Locate(rel, how)
	if err != nil {
		return nil, api.During(action, path, err)
	}
	return entry, nil
}
