package clients

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

// managers lists the appliers in managedFields.
func managers(object metav1.Object) []string {
	var names []string
	for _, entry := range object.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return names
}

func conflictWith(t *testing.T, err error, field string) {
	t.Helper()
	conflict := refused(t, apierrors.IsConflict, err)
	for _, cause := range conflict.ErrStatus.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict && cause.Field == field && strings.Contains(cause.Message, "alice") {
			return
		}
	}
	t.Errorf("the conflict does not name the field %s and its owner: %+v", field, conflict.ErrStatus)
}

func TestConfigMapsAreApplied(t *testing.T) {
	c := connect(t)
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	wanted := func(data map[string]string) *applycorev1.ConfigMapApplyConfiguration {
		return applycorev1.ConfigMap("a", c.namespace).WithData(data)
	}
	alice := metav1.ApplyOptions{FieldManager: "alice"}
	bob := metav1.ApplyOptions{FieldManager: "bob"}

	_, err := maps.Apply(c.ctx, wanted(map[string]string{"shared": "1", "alices": "1"}), alice)
	must(t, err)
	_, err = maps.Apply(c.ctx, wanted(map[string]string{"shared": "2"}), bob)
	conflictWith(t, err, ".data.shared")
	_, err = maps.Apply(c.ctx, wanted(map[string]string{"shared": "1", "bobs": "1"}), bob)
	must(t, err)

	bob.Force = true
	forced, err := maps.Apply(c.ctx, wanted(map[string]string{"shared": "2", "bobs": "1"}), bob)
	must(t, err)
	if forced.Data["shared"] != "2" || forced.Data["alices"] != "1" {
		t.Errorf("forced to %v", forced.Data)
	}
	if names := managers(forced); !slices.Equal(names, []string{"alice", "bob"}) {
		t.Errorf("managed by %v", names)
	}

	// Fields that an owner no longer applies are removed, unless another manager owns them.
	left, err := maps.Apply(c.ctx, wanted(nil), alice)
	must(t, err)
	if _, has := left.Data["alices"]; has || left.Data["shared"] != "2" || left.Data["bobs"] != "1" {
		t.Errorf("left %v", left.Data)
	}

	extracted, err := applycorev1.ExtractConfigMap(left, "bob")
	must(t, err)
	if extracted.Data["shared"] != "2" || extracted.Data["bobs"] != "1" {
		t.Errorf("client-go reads %v as applied by bob", extracted.Data)
	}
	again, err := maps.Apply(c.ctx, extracted, bob)
	must(t, err)
	if again.ResourceVersion != left.ResourceVersion {
		t.Error("an apply that changes nothing made a new revision")
	}
}

func TestSandboxesAreApplied(t *testing.T) {
	c := connect(t)
	client := c.dynamic.Resource(sandboxes).Namespace(c.namespace)
	alice := metav1.ApplyOptions{FieldManager: "alice"}
	bob := metav1.ApplyOptions{FieldManager: "bob"}

	created, err := client.Apply(c.ctx, "s", c.sandbox("s", "busybox:1"), alice)
	must(t, err)
	if mode, _, _ := unstructured.NestedString(created.Object, "spec", "operatingMode"); mode != "Running" {
		t.Errorf("no defaults: %v", created.Object["spec"])
	}
	_, err = client.Apply(c.ctx, "s", c.sandbox("s", "busybox:2"), bob)
	conflictWith(t, err, `.spec.podTemplate.spec.containers[name="main"].image`)
	bob.Force = true
	forced, err := client.Apply(c.ctx, "s", c.sandbox("s", "busybox:2"), bob)
	must(t, err)
	if forced.GetGeneration() != created.GetGeneration()+1 {
		t.Errorf("the generation went from %d to %d", created.GetGeneration(), forced.GetGeneration())
	}
	if names := managers(forced); !slices.Equal(names, []string{"alice", "bob"}) {
		t.Errorf("managed by %v", names)
	}
	bad := c.sandbox("s", "busybox:2")
	must(t, unstructured.SetNestedField(bad.Object, "Sideways", "spec", "operatingMode"))
	_, err = client.Apply(c.ctx, "s", bad, bob)
	refused(t, apierrors.IsInvalid, err)
}
