package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// maxErrorBytes limits the body of an error, which is short.
const maxErrorBytes = 64 << 10

// apiServer makes the calls of the Kubernetes API that this package needs.
type apiServer struct {
	client  *http.Client
	server  string
	config  *rest.Config
	tracing *tracing
}

func newAPIServer(config *rest.Config, tracing *tracing) (*apiServer, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &apiServer{client: client, server: strings.TrimSuffix(server.String(), "/"), config: config, tracing: tracing}, nil
}

// kind names a resource.
type kind struct{ apiVersion, kind, plural string }

var (
	sandboxes = kind{"agents.x-k8s.io/v1beta1", "Sandbox", "sandboxes"}
	claims    = kind{"extensions.agents.x-k8s.io/v1beta1", "SandboxClaim", "sandboxclaims"}
	pools     = kind{"extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool", "sandboxwarmpools"}
	snapshots = kind{"snapshots.agents.x-k8s.io/v1alpha1", "SandboxSnapshot", "sandboxsnapshots"}
	gateways  = kind{"gateway.networking.k8s.io/v1", "Gateway", "gateways"}
)

func (k kind) path(namespace, name string) string {
	path := "/apis/" + k.apiVersion + "/namespaces/" + url.PathEscape(namespace) + "/" + k.plural
	if name == "" {
		return path
	}
	return path + "/" + url.PathEscape(name)
}

type metadata struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	CreationTimestamp string            `json:"creationTimestamp,omitempty"`
	DeletionTimestamp string            `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// object has the fields of all kinds that this package reads.
type object struct {
	APIVersion string         `json:"apiVersion,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Metadata   metadata       `json:"metadata"`
	Spec       map[string]any `json:"spec"`
	Status     struct {
		Conditions []condition `json:"conditions"`
		PodIPs     []string    `json:"podIPs"`
		Addresses  []struct {
			Value string `json:"value"`
		} `json:"addresses"`
		Sandbox struct {
			Name string `json:"name"`
		} `json:"sandbox"`
		Suspension        Suspension `json:"suspension"`
		Depth             Depth      `json:"depth"`
		SizeBytes         int64      `json:"sizeBytes"`
		PauseMilliseconds int64      `json:"pauseMilliseconds"`
		SourceName        string     `json:"sourceName"`
	} `json:"status,omitzero"`
}

// current returns the condition of this type, unless it describes an older spec.
func (o *object) current(kind string) (condition, bool) {
	for _, each := range o.Status.Conditions {
		if each.Type == kind {
			return each, each.ObservedGeneration == 0 || each.ObservedGeneration >= o.Metadata.Generation
		}
	}
	return condition{}, false
}

func (a *apiServer) get(ctx context.Context, k kind, namespace, name string) (*object, error) {
	return a.object(ctx, fmt.Sprintf("Cannot get %s %q", k.kind, name), http.MethodGet, k.path(namespace, name), "", nil)
}

func (a *apiServer) create(ctx context.Context, k kind, wanted *object) (*object, error) {
	wanted.APIVersion, wanted.Kind = k.apiVersion, k.kind
	doing := fmt.Sprintf("Cannot create %s %q", k.kind, wanted.Metadata.Name)
	return a.object(ctx, doing, http.MethodPost, k.path(wanted.Metadata.Namespace, ""), "application/json", wanted)
}

// patch sends a JSON merge patch, which has the same effect if it is sent twice.
func (a *apiServer) patch(ctx context.Context, k kind, namespace, name string, patch any) (*object, error) {
	doing := fmt.Sprintf("Cannot change %s %q", k.kind, name)
	return a.object(ctx, doing, http.MethodPatch, k.path(namespace, name), "application/merge-patch+json", patch)
}

// delete deletes the object with this UID. It succeeds if the object is already gone.
func (a *apiServer) delete(ctx context.Context, k kind, namespace, name, uid string) error {
	options := map[string]any{}
	if uid != "" {
		options["preconditions"] = map[string]string{"uid": uid}
	}
	response, err := a.exchange(ctx, fmt.Sprintf("Cannot delete %s %q", k.kind, name), http.MethodDelete, k.path(namespace, name), "application/json", options)
	if err == nil {
		// It is the object or a Status.
		return response.Body.Close()
	}
	var failure *Error
	if errors.As(err, &failure) && (failure.Reason == NotFound || failure.ServerReason == "Conflict") {
		return nil
	}
	return err
}

func (a *apiServer) list(ctx context.Context, k kind, namespace, selector string) ([]object, error) {
	var items []object
	for next := ""; ; {
		query := url.Values{"limit": {"500"}}
		if selector != "" {
			query.Set("labelSelector", selector)
		}
		if next != "" {
			query.Set("continue", next)
		}
		var page struct {
			Items    []object `json:"items"`
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
		}
		if err := a.into(ctx, "Cannot list "+k.plural, http.MethodGet, k.path(namespace, "")+"?"+query.Encode(), "", nil, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if next = page.Metadata.Continue; next == "" {
			return items, nil
		}
	}
}

func (a *apiServer) object(ctx context.Context, doing, method, path, contentType string, body any) (*object, error) {
	found := &object{}
	return found, a.into(ctx, doing, method, path, contentType, body, found)
}

func (a *apiServer) into(ctx context.Context, doing, method, path, contentType string, body, into any) error {
	response, err := a.exchange(ctx, doing, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return ended(ctx, &Error{Reason: Internal, Message: doing + ": " + err.Error(), cause: err})
	}
	return nil
}

// exchange returns a successful response. All calls can be repeated: a create that had an effect then fails with AlreadyExists.
func (a *apiServer) exchange(ctx context.Context, doing, method, path, contentType string, body any) (*http.Response, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	return retry(ctx, attempt{doing: doing, repeatable: true}, func(int) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", "application/json")
		a.tracing.inject(ctx, request.Header)
		if contentType != "" {
			request.Header.Set("Content-Type", contentType)
		}
		response, err := a.client.Do(request)
		if err != nil {
			return nil, lost(doing, err, true)
		}
		if response.StatusCode < 400 {
			return response, nil
		}
		return nil, statusError(doing, response)
	})
}

// watch calls judge with the states of one object until it returns true, the connection ends, or the context ends.
func (a *apiServer) watch(ctx context.Context, k kind, from *object, judge func(event string, state *object) (bool, error)) (bool, error) {
	name := from.Metadata.Name
	query := url.Values{"watch": {"true"}, "resourceVersion": {from.Metadata.ResourceVersion}, "fieldSelector": {"metadata.name=" + name}}
	doing := fmt.Sprintf("Cannot watch %s %q", k.kind, name)
	response, err := a.exchange(ctx, doing, http.MethodGet, k.path(from.Metadata.Namespace, "")+"?"+query.Encode(), "", nil)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return false, ended(ctx, nil)
		}
		var event struct {
			Type   string `json:"type"`
			Object object `json:"object"`
		}
		if json.Unmarshal(line, &event) != nil || event.Type == "ERROR" {
			return false, nil
		}
		if done, err := judge(event.Type, &event.Object); done || err != nil {
			return done, err
		}
	}
}

var kubeReasons = map[int]Reason{
	400: InvalidArgument, 401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Conflict, 413: LimitExceeded,
	415: Unsupported, 422: InvalidArgument,
}

func statusError(doing string, response *http.Response) *Error {
	body := readError(response)
	var status struct{ Message, Reason string }
	_ = json.Unmarshal(body, &status)
	message := firstOf(status.Message, fmt.Sprintf("the API server answered %d", response.StatusCode))
	failure := &Error{Message: doing + ": " + message, Status: response.StatusCode, ServerReason: status.Reason, Body: string(body)}
	switch code := response.StatusCode; {
	case code == 429 || code == 503:
		failure.Reason, failure.transient = Unreachable, true
	case code == 500 || code == 502 || code == 504:
		failure.Reason, failure.transient, failure.sent = Unreachable, true, true
	case status.Reason == "AlreadyExists":
		failure.Reason = AlreadyExists
	case code == 403 && strings.Contains(status.Message, "exceeded quota"):
		failure.Reason = LimitExceeded
	default:
		failure.Reason = reasonOr(kubeReasons[code])
	}
	return failure
}

func reasonOr(reason Reason) Reason {
	if reason == "" {
		return Internal
	}
	return reason
}

func readError(response *http.Response) []byte {
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	return body
}

// lost is the error of a request without a response.
func lost(doing string, err error, sent bool) *Error {
	return &Error{Reason: Unreachable, Message: doing + ": " + withoutURL(err).Error(), cause: err, transient: true, sent: sent}
}

// withoutURL removes the request from an error of net/http.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
