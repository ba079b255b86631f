package clients

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func TestMetadataOnlyRequests(t *testing.T) {
	c := connect(t)
	client := metadata.NewForConfigOrDie(c.config)
	typed := c.typed.CoreV1().ConfigMaps(c.namespace)
	made, err := typed.Create(c.ctx, c.configMap("a", map[string]string{"a": "1"}), metav1.CreateOptions{})
	must(t, err)
	_, err = c.dynamic.Resource(sandboxes).Namespace(c.namespace).Create(c.ctx, c.sandbox("s", "busybox:1"), metav1.CreateOptions{})
	must(t, err)
	for name, resource := range map[string]schema.GroupVersionResource{"a": configMaps, "s": sandboxes} {
		maps := client.Resource(resource).Namespace(c.namespace)
		found, err := maps.Get(c.ctx, name, metav1.GetOptions{})
		must(t, err)
		listed, err := maps.List(c.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		must(t, err)
		if found.Name != name || found.UID == "" {
			t.Errorf("%s is read as %+v", resource.Resource, found)
		}
		if len(listed.Items) != 1 || listed.Items[0].UID != found.UID || listed.ResourceVersion == "" {
			t.Errorf("%s are listed as %+v", resource.Resource, listed)
		}
		patched, err := maps.Patch(c.ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
		must(t, err)
		if patched.Labels["a"] != "b" {
			t.Errorf("%s are patched to %+v", resource.Resource, patched)
		}
	}
	maps := client.Resource(configMaps).Namespace(c.namespace)
	watching, err := maps.Watch(c.ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion, FieldSelector: "metadata.name=a"})
	must(t, err)
	defer watching.Stop()
	must(t, maps.Delete(c.ctx, "a", metav1.DeleteOptions{}))
	for event := (watch.Event{}); event.Type != watch.Deleted; {
		event = receive(t, c, watching.ResultChan(), "deletion")
		if partial, is := event.Object.(*metav1.PartialObjectMetadata); !is || partial.Name != "a" {
			t.Fatalf("the event is %+v", event)
		}
	}
	_, err = maps.Get(c.ctx, "a", metav1.GetOptions{})
	refused(t, apierrors.IsNotFound, err)
}

func TestMetadataInformer(t *testing.T) {
	c := connect(t)
	client := metadata.NewForConfigOrDie(c.config)
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, c.namespace, nil)
	informer := factory.ForResource(sandboxes).Informer()
	added := make(chan string, 8)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		added <- object.(*metav1.PartialObjectMetadata).Name
	}})
	must(t, err)
	factory.Start(c.ctx.Done())
	if !cache.WaitForCacheSync(c.ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer has not synced")
	}
	for _, name := range []string{"a", "b"} {
		_, err := c.dynamic.Resource(sandboxes).Namespace(c.namespace).Create(c.ctx, c.sandbox(name, "busybox:1"), metav1.CreateOptions{})
		must(t, err)
		if seen := receive(t, c, added, "sandbox"); seen != name {
			t.Errorf("wanted %s, saw %s", name, seen)
		}
	}
}
