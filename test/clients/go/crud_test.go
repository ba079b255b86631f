package clients

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (c cluster) pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox:1"}}},
	}
}

func TestPodsAreCreatedUpdatedAndDeleted(t *testing.T) {
	c := connect(t)
	pods := c.typed.CoreV1().Pods(c.namespace)

	created, err := pods.Create(c.ctx, c.pod("a"), metav1.CreateOptions{})
	must(t, err)
	if created.UID == "" || created.ResourceVersion == "" || created.CreationTimestamp.IsZero() {
		t.Errorf("incomplete metadata: %+v", created.ObjectMeta)
	}
	if created.Spec.RestartPolicy != corev1.RestartPolicyAlways || created.Spec.NodeName != "box" {
		t.Errorf("no defaults, or not bound: %+v", created.Spec)
	}

	created.Status.Phase = corev1.PodRunning
	running, err := pods.UpdateStatus(c.ctx, created, metav1.UpdateOptions{})
	must(t, err)
	if running.Status.Phase != corev1.PodRunning || running.Generation != created.Generation {
		t.Errorf("status was not updated alone: %+v", running)
	}

	running.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err = pods.Update(c.ctx, running, metav1.UpdateOptions{})
	refused(t, apierrors.IsInvalid, err)

	listed, err := pods.List(c.ctx, metav1.ListOptions{LabelSelector: "app in (a,b)", FieldSelector: "status.phase=Running"})
	must(t, err)
	if len(listed.Items) != 1 {
		t.Errorf("listed %d Pods, wanted one", len(listed.Items))
	}

	now := int64(0)
	wrong := types.UID("another")
	err = pods.Delete(c.ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	refused(t, apierrors.IsConflict, err)
	must(t, pods.Delete(c.ctx, "a", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	_, err = pods.Get(c.ctx, "a", metav1.GetOptions{})
	missing := refused(t, apierrors.IsNotFound, err)
	if details := missing.ErrStatus.Details; details == nil || details.Name != "a" || details.Kind != "pods" {
		t.Errorf("the error does not say what is missing: %+v", missing.ErrStatus)
	}
}

func TestConfigMapsAreStoredUnchanged(t *testing.T) {
	c := connect(t)
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)

	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := maps.Create(c.ctx, c.configMap("a", nil), dry)
	must(t, err)
	created, err := maps.Create(c.ctx, c.configMap("a", map[string]string{"key": "1"}), metav1.CreateOptions{})
	must(t, err)
	_, err = maps.Create(c.ctx, c.configMap("a", nil), metav1.CreateOptions{})
	refused(t, apierrors.IsAlreadyExists, err)
	_, err = maps.Create(c.ctx, c.configMap("Not A Name", nil), metav1.CreateOptions{})
	invalid := refused(t, apierrors.IsInvalid, err)
	if causes := invalid.ErrStatus.Details.Causes; len(causes) == 0 || causes[0].Field != "metadata.name" {
		t.Errorf("the error does not say which field is wrong: %+v", causes)
	}

	newer := created.DeepCopy()
	newer.Data["key"] = "2"
	newer, err = maps.Update(c.ctx, newer, metav1.UpdateOptions{})
	must(t, err)
	created.Data["key"] = "3"
	_, err = maps.Update(c.ctx, created, metav1.UpdateOptions{})
	refused(t, apierrors.IsConflict, err)
	same, err := maps.Update(c.ctx, newer, metav1.UpdateOptions{})
	must(t, err)
	if same.ResourceVersion != newer.ResourceVersion {
		t.Error("an update that changes nothing made a new revision")
	}
}

func TestAllPatchTypes(t *testing.T) {
	bodies := map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"test","path":"/data/a","value":"1"},{"op":"replace","path":"/data/a","value":"2"}]`,
		types.MergePatchType:          `{"data":{"a":"2"}}`,
		types.StrategicMergePatchType: `{"data":{"a":"2"}}`,
	}
	for kind, body := range bodies {
		t.Run(string(kind), func(t *testing.T) {
			c := connect(t)
			maps := c.typed.CoreV1().ConfigMaps(c.namespace)
			_, err := maps.Create(c.ctx, c.configMap("a", map[string]string{"a": "1", "b": "1"}), metav1.CreateOptions{})
			must(t, err)
			patched, err := maps.Patch(c.ctx, "a", kind, []byte(body), metav1.PatchOptions{})
			must(t, err)
			if patched.Data["a"] != "2" || patched.Data["b"] != "1" {
				t.Errorf("patched to %v", patched.Data)
			}
			_, err = maps.Patch(c.ctx, "missing", kind, []byte(body), metav1.PatchOptions{})
			refused(t, apierrors.IsNotFound, err)
		})
	}
}

func TestSecretsAcceptStringData(t *testing.T) {
	c := connect(t)
	secrets := c.typed.CoreV1().Secrets(c.namespace)
	wanted := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "s-", Labels: map[string]string{"app": "x"}},
		Data:       map[string][]byte{"bytes": {0, 255, 10}},
		StringData: map[string]string{"text": "ü"},
	}
	created, err := secrets.Create(c.ctx, wanted, metav1.CreateOptions{})
	must(t, err)
	if string(created.Data["text"]) != "ü" || string(created.Data["bytes"]) != "\x00\xff\n" || created.StringData != nil {
		t.Errorf("stored %v and %v", created.Data, created.StringData)
	}
	if created.Type != corev1.SecretTypeOpaque {
		t.Errorf("the type is %q", created.Type)
	}
	if _, err = secrets.Create(c.ctx, wanted, metav1.CreateOptions{}); err != nil {
		t.Errorf("a generated name was not unique: %v", err)
	}
	must(t, secrets.DeleteCollection(c.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=x"}))
	left, err := secrets.List(c.ctx, metav1.ListOptions{LabelSelector: "app=x"})
	must(t, err)
	if len(left.Items) != 0 {
		t.Errorf("%d Secrets are left", len(left.Items))
	}
}
