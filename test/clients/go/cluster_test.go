// Package clients tests the API server in KUBECONFIG with an unmodified client-go.
package clients

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is the timeout of every wait. A healthy server is much faster, even on a busy machine.
const patience = 60 * time.Second

var sandboxes = schema.GroupVersionResource{Group: "agents.x-k8s.io", Version: "v1beta1", Resource: "sandboxes"}

// cluster contains the clients and the namespace of one test.
type cluster struct {
	ctx       context.Context
	config    *rest.Config
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	namespace string
}

// connect creates clients from the adapted configuration, and a namespace that is deleted after the test.
func connect(t *testing.T, adapt ...func(*rest.Config)) cluster {
	t.Helper()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	must(t, err)
	// Turn off client-side rate limiting.
	config.QPS = -1
	plain := kubernetes.NewForConfigOrDie(config)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"}}
	created, err := plain.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		err := plain.CoreV1().Namespaces().Delete(context.Background(), created.Name, metav1.DeleteOptions{})
		must(t, err)
	})
	for _, change := range adapt {
		change(config)
	}
	return cluster{ctx, config, kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config), created.Name}
}

func (c cluster) configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.namespace}, Data: data}
}

func (c cluster) sandbox(name string, image string) *unstructured.Unstructured {
	containers := []any{map[string]any{"name": "main", "image": image}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "agents.x-k8s.io/v1beta1",
		"kind":       "Sandbox",
		"metadata":   map[string]any{"name": name, "namespace": c.namespace},
		"spec":       map[string]any{"podTemplate": map[string]any{"spec": map[string]any{"containers": containers}}},
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err is an error of the given kind.
func refused(t *testing.T, is func(error) bool, err error) *apierrors.StatusError {
	t.Helper()
	status, isStatus := err.(*apierrors.StatusError)
	if !isStatus || !is(err) {
		t.Fatalf("unexpected error: %#v", err)
	}
	return status
}

// receive waits for the next value of a channel.
func receive[T any](t *testing.T, c cluster, from <-chan T, what string) T {
	t.Helper()
	select {
	case value, open := <-from:
		if !open {
			t.Fatalf("the channel ended before %s", what)
		}
		return value
	case <-c.ctx.Done():
		t.Fatalf("no %s within %s", what, patience)
	}
	panic("unreachable")
}
