import json

import pytest
from kubernetes import watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

AGENTS = "agents.x-k8s.io"
EXTENSIONS = "extensions.agents.x-k8s.io"
POD_TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "busybox:1"}]}}

KINDS = {
    "Sandbox": (AGENTS, "sandboxes", {"podTemplate": POD_TEMPLATE}),
    "SandboxTemplate": (EXTENSIONS, "sandboxtemplates", {"podTemplate": POD_TEMPLATE}),
    "SandboxClaim": (EXTENSIONS, "sandboxclaims", {"warmPoolRef": {"name": "pool"}}),
    "SandboxWarmPool": (EXTENSIONS, "sandboxwarmpools", {"replicas": 1, "sandboxTemplateRef": {"name": "template"}}),
}


class Resource:
    """One kind in one namespace, through CustomObjectsApi."""

    def __init__(self, custom, kind, namespace):
        self.custom = custom
        self.kind = kind
        group, plural, self.spec = KINDS[kind]
        self.place = {"group": group, "version": "v1beta1", "namespace": namespace, "plural": plural}

    def body(self, name, **metadata):
        api_version = f"{self.place['group']}/{self.place['version']}"
        metadata = {"name": name, **metadata}
        return {"apiVersion": api_version, "kind": self.kind, "metadata": metadata, "spec": self.spec}

    def __getattr__(self, verb):
        call = getattr(self.custom, f"{verb}_namespaced_custom_object")
        return lambda **words: call(**self.place, **words)


@pytest.fixture(params=KINDS)
def resource(request, custom, namespace):
    return Resource(custom, request.param, namespace)


@pytest.fixture
def sandboxes(custom, namespace):
    return Resource(custom, "Sandbox", namespace)


def test_every_kind_is_created_updated_and_deleted(resource):
    created = resource.create(body=resource.body("a", labels={"app": "x"}))
    assert (created["kind"], created["metadata"]["generation"]) == (resource.kind, 1)
    read = resource.get(name="a")
    assert read == created
    listed = resource.list(label_selector="app=x")
    assert listed["kind"] == f"{resource.kind}List"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]

    read["metadata"]["annotations"] = {"note": "1"}
    replaced = resource.replace(name="a", body=read)
    assert replaced["metadata"]["generation"] == 1
    with pytest.raises(ApiException) as caught:
        created["metadata"]["annotations"] = {"note": "2"}
        resource.replace(name="a", body=created)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")

    patched = resource.patch(name="a", body={"metadata": {"annotations": {"note": None, "other": "1"}}})
    assert patched["metadata"]["annotations"] == {"other": "1"}
    steps = [{"op": "replace", "path": "/metadata/annotations/other", "value": "2"}]
    patched = resource.patch(name="a", body=steps, _content_type="application/json-patch+json")
    assert patched["metadata"]["annotations"] == {"other": "2"}

    deleted = resource.delete(name="a", propagation_policy="Background")
    assert deleted["status"] == "Success"
    with pytest.raises(ApiException) as caught:
        resource.get(name="a")
    body = json.loads(caught.value.body)
    assert (caught.value.status, body["details"]["group"]) == (404, resource.place["group"])


def test_status_is_a_subresource(sandboxes):
    sandboxes.create(body=sandboxes.body("a"))
    status = {"status": {"conditions": []}, "spec": {"operatingMode": "Suspended"}}
    patched = sandboxes.custom.patch_namespaced_custom_object_status(**sandboxes.place, name="a", body=status)
    assert patched["spec"]["operatingMode"] == "Running"


def test_bad_objects_are_refused_by_field(sandboxes):
    bad = sandboxes.body("a")
    bad["spec"] = {**bad["spec"], "operatingMode": "Sideways"}
    with pytest.raises(ApiException) as caught:
        sandboxes.create(body=bad)
    body = json.loads(caught.value.body)
    assert (caught.value.status, body["reason"]) == (422, "Invalid")
    assert body["details"]["causes"][0]["field"] == "spec.operatingMode"
    unknown = sandboxes.body("a")
    unknown["spec"] = {**unknown["spec"], "noSuchField": 1}
    with pytest.raises(ApiException) as caught:
        sandboxes.create(body=unknown, field_validation="Strict")
    assert caught.value.status == 400 and "noSuchField" in caught.value.body


def test_custom_objects_are_watched(sandboxes):
    sandboxes.create(body=sandboxes.body("a"))
    watching = watch.Watch()
    seen = []
    words = {**sandboxes.place, "timeout_seconds": 60}
    for event in watching.stream(sandboxes.custom.list_namespaced_custom_object, **words):
        seen.append((event["type"], event["object"]["metadata"]["name"]))
        if event["type"] == "DELETED":
            watching.stop()
        else:
            sandboxes.delete(name="a")
    assert seen == [("ADDED", "a"), ("DELETED", "a")]


def test_older_version_is_served(custom, sandboxes):
    sandboxes.create(body=sandboxes.body("a"))
    old = custom.get_namespaced_custom_object(**{**sandboxes.place, "version": "v1alpha1"}, name="a")
    assert old["apiVersion"] == "agents.x-k8s.io/v1alpha1"


def test_dynamic_client_discovers_our_kinds(api, namespace):
    dynamic = DynamicClient(api)
    for kind, (group, _, spec) in KINDS.items():
        resource = dynamic.resources.get(api_version=f"{group}/v1beta1", kind=kind)
        body = {"apiVersion": f"{group}/v1beta1", "kind": kind, "metadata": {"name": "d"}, "spec": spec}
        created = resource.create(body=body, namespace=namespace)
        assert resource.get(name="d", namespace=namespace).metadata.uid == created.metadata.uid
        resource.delete(name="d", namespace=namespace)


def test_dynamic_client_applies(api, namespace):
    sandboxes = DynamicClient(api).resources.get(api_version=f"{AGENTS}/v1beta1", kind="Sandbox")
    body = {"apiVersion": f"{AGENTS}/v1beta1", "kind": "Sandbox", "metadata": {"name": "a"}}

    def apply(mode, manager, **options):
        wanted = {**body, "spec": {"podTemplate": POD_TEMPLATE, "operatingMode": mode}}
        return sandboxes.server_side_apply(wanted, namespace=namespace, field_manager=manager, **options)

    apply("Running", "alice")
    with pytest.raises(ApiException) as caught:
        apply("Suspended", "bob")
    causes = json.loads(caught.value.body)["details"]["causes"]
    assert (caught.value.status, [cause["field"] for cause in causes]) == (409, [".spec.operatingMode"])
    assert apply("Suspended", "bob", force_conflicts=True).spec.operatingMode == "Suspended"
