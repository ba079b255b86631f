package clients

import (
	"reflect"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func pointer[T any](value T) *T { return &value }

var meta = metav1.ObjectMeta{
	Name:        "a",
	Labels:      map[string]string{"app": "a"},
	Annotations: map[string]string{"note": "ü\n"},
}

// Types with special encodings in protobuf: quantities, times, int-or-string, bytes, empty structs, nested unions.
var samples = map[string]runtime.Object{
	"configmaps": &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": ""}, BinaryData: map[string][]byte{"b": {0, 255}}},
	"secrets":    &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"a": {0, 255}}, Immutable: pointer(true)},
	"services": &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: "None",
		Ports: []corev1.ServicePort{
			{Name: "number", Port: 80, TargetPort: intstr.FromInt32(8080)},
			{Name: "name", Port: 81, TargetPort: intstr.FromString("web"), Protocol: corev1.ProtocolUDP},
		},
	}},
	"persistentvolumeclaims": &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1.5Gi")},
		},
	}},
	"leases": &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{
		HolderIdentity:       pointer("me"),
		LeaseDurationSeconds: pointer(int32(15)),
		RenewTime:            pointer(metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC))),
	}},
	"roles": &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}},
	"networkpolicies": &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From:  []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}}}},
			Ports: []networkingv1.NetworkPolicyPort{{Port: pointer(intstr.FromInt32(80)), EndPort: pointer(int32(90))}},
		}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}},
	"pods": &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		SecurityContext:               &corev1.PodSecurityContext{RunAsUser: pointer(int64(0)), SupplementalGroups: []int64{1, 1 << 30}},
		TerminationGracePeriodSeconds: pointer(int64(0)),
		Volumes: []corev1.Volume{
			{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: pointer(resource.MustParse("100Mi"))}}},
			{Name: "map", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: pointer(int32(0o400)),
			}}},
		},
		Containers: []corev1.Container{{
			Name:    "main",
			Image:   "busybox:1",
			Command: []string{"sh", ""},
			Env: []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
			}}},
			Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1"), corev1.ResourceMemory: resource.MustParse("1e9")},
			},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("web")},
			}},
			SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: pointer(int64(-1))}},
	}},
}

// store writes the sample in one format and reads it back as JSON, without fields that differ between any two objects.
func store(t *testing.T, name string, sample runtime.Object, adapt func(*rest.Config)) map[string]any {
	t.Helper()
	c := connect(t, adapt)
	kinds, _, err := scheme.Scheme.ObjectKinds(sample)
	must(t, err)
	version := kinds[0].GroupVersion()
	config := rest.CopyConfig(c.config)
	config.GroupVersion = &version
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientFor(config)
	must(t, err)
	created := reflect.New(reflect.TypeOf(sample).Elem()).Interface().(runtime.Object)
	must(t, client.Post().Namespace(c.namespace).Resource(name).Body(sample).Do(c.ctx).Into(created))
	if created.(metav1.Object).GetUID() == "" {
		t.Error("the answer was not understood")
	}
	place := schema.GroupVersionResource{Group: version.Group, Version: version.Version, Resource: name}
	read, err := connect(t).dynamic.Resource(place).Namespace(c.namespace).Get(c.ctx, "a", metav1.GetOptions{})
	must(t, err)
	for _, field := range []string{"namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(read.Object, "metadata", field)
	}
	return read.Object
}

// Typed clients of built-in kinds send protobuf by default. The server reads it and answers in JSON, which they accept.
func TestProtobufIsStoredLikeJson(t *testing.T) {
	speak := func(format string) func(*rest.Config) {
		return func(config *rest.Config) { config.ContentType = format }
	}
	for name, sample := range samples {
		t.Run(name, func(t *testing.T) {
			protobuf := store(t, name, sample, speak(runtime.ContentTypeProtobuf))
			json := store(t, name, sample, speak(runtime.ContentTypeJSON))
			if !reflect.DeepEqual(protobuf, json) {
				t.Errorf("protobuf was stored as %v\nJSON as %v", protobuf, json)
			}
		})
	}
}

func TestBrokenBodiesAreRefused(t *testing.T) {
	c := connect(t)
	for format, body := range map[string]string{
		runtime.ContentTypeProtobuf: "k8s\x00\x0a\xff\xff",
		runtime.ContentTypeJSON:     `{"metadata":`,
		runtime.ContentTypeYAML:     "metadata: [",
	} {
		t.Run(format, func(t *testing.T) {
			post := c.typed.CoreV1().RESTClient().Post().Namespace(c.namespace).Resource("configmaps")
			err := post.SetHeader("Content-Type", format).Body([]byte(body)).Do(c.ctx).Error()
			refused(t, apierrors.IsBadRequest, err)
		})
	}
	t.Run("unknown", func(t *testing.T) {
		post := c.typed.CoreV1().RESTClient().Post().Namespace(c.namespace).Resource("configmaps")
		err := post.SetHeader("Content-Type", "text/plain").Body([]byte("{}")).Do(c.ctx).Error()
		refused(t, apierrors.IsUnsupportedMediaType, err)
	})
}
