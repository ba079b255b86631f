import base64
import json

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward, stream


def config_map(name, data=None, **metadata):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, **metadata), data=data)


def pod(name):
    container = client.V1Container(name="main", image="busybox:1")
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=client.V1PodSpec(containers=[container]))


def names(items):
    return [item.metadata.name for item in items]


def refused(status, reason, call):
    """Fails unless the block raises this error, with the same code in the body."""
    with pytest.raises(ApiException) as caught:
        call()
    body = json.loads(caught.value.body)
    assert (caught.value.status, body["kind"], body["code"], body["reason"]) == (status, "Status", status, reason)
    return body


def test_config_maps_are_created_updated_and_deleted(core, namespace):
    created = core.create_namespaced_config_map(namespace, config_map("a", {"key": "1"}))
    assert created.metadata.uid and created.metadata.creation_timestamp.tzinfo
    created.data["key"] = "2"
    replaced = core.replace_namespaced_config_map("a", namespace, created)
    assert core.read_namespaced_config_map("a", namespace).data == {"key": "2"}
    assert replaced.metadata.resource_version != created.metadata.resource_version
    status = core.delete_namespaced_config_map("a", namespace)
    assert status.status == "Success"
    assert core.list_namespaced_config_map(namespace).items == []


def test_errors_name_the_problem(core, namespace):
    missing = refused(404, "NotFound", lambda: core.read_namespaced_pod("none", namespace))
    assert missing["message"] == 'pods "none" not found'
    assert missing["details"] == {"name": "none", "kind": "pods"}

    old = core.create_namespaced_config_map(namespace, config_map("a"))
    refused(409, "AlreadyExists", lambda: core.create_namespaced_config_map(namespace, config_map("a")))
    core.patch_namespaced_config_map("a", namespace, [{"op": "add", "path": "/data", "value": {"a": "1"}}])
    old.data = {"a": "2"}
    refused(409, "Conflict", lambda: core.replace_namespaced_config_map("a", namespace, old))

    bad = pod("bad")
    bad.spec.containers[0].name = "Not A Name"
    invalid = refused(422, "Invalid", lambda: core.create_namespaced_pod(namespace, bad))
    assert [cause["field"] for cause in invalid["details"]["causes"]] == ["spec.containers[0].name"]
    nowhere = "no-such-namespace"
    refused(404, "NotFound", lambda: core.create_namespaced_config_map(nowhere, config_map("a")))
    bad_selector = "a in (b"
    refused(400, "BadRequest", lambda: core.list_namespaced_pod(namespace, label_selector=bad_selector))


def test_requests_need_a_token(api):
    configuration = client.Configuration()
    configuration.host = api.configuration.host
    configuration.ssl_ca_cert = api.configuration.ssl_ca_cert
    configuration.api_key = {"authorization": "Bearer nonsense"}
    stranger = client.CoreV1Api(client.ApiClient(configuration))
    refused(401, "Unauthorized", lambda: stranger.list_namespace())


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json-patch+json", [{"op": "replace", "path": "/data/a", "value": "2"}]),
        ("application/merge-patch+json", {"data": {"a": "2"}}),
        ("application/strategic-merge-patch+json", {"data": {"a": "2"}}),
    ],
)
def test_all_patch_types(core, namespace, content_type, body):
    core.create_namespaced_config_map(namespace, config_map("a", {"a": "1", "b": "1"}))
    patched = core.patch_namespaced_config_map("a", namespace, body, _content_type=content_type)
    assert patched.data == {"a": "2", "b": "1"}


def test_lists_are_selected_and_paged(core, namespace):
    for index in range(5):
        labels = {"parity": "even" if index % 2 == 0 else "odd"}
        core.create_namespaced_config_map(namespace, config_map(f"m-{index}", labels=labels))
    select = core.list_namespaced_config_map
    assert names(select(namespace, label_selector="parity=even").items) == ["m-0", "m-2", "m-4"]
    assert names(select(namespace, label_selector="parity notin (even),parity").items) == ["m-1", "m-3"]
    assert names(select(namespace, label_selector="!parity").items) == []
    assert names(select(namespace, field_selector="metadata.name=m-3").items) == ["m-3"]
    assert names(select(namespace, field_selector="metadata.name!=m-3", label_selector="parity=odd").items) == ["m-1"]

    first = select(namespace, limit=2)
    assert first.metadata.remaining_item_count == 3
    second = select(namespace, limit=2, _continue=first.metadata._continue)
    third = select(namespace, limit=2, _continue=second.metadata._continue)
    assert names(first.items + second.items + third.items) == [f"m-{index}" for index in range(5)]
    assert not third.metadata._continue


def test_watch_streams_changes(core, namespace):
    core.create_namespaced_config_map(namespace, config_map("a", {"n": "0"}))
    watching = watch.Watch()
    seen = []
    for event in watching.stream(core.list_namespaced_config_map, namespace, timeout_seconds=60):
        stored = event["object"]
        seen.append((event["type"], stored.data))
        if event["type"] == "ADDED":
            core.replace_namespaced_config_map("a", namespace, config_map("a", {"n": "1"}))
        elif event["type"] == "MODIFIED":
            core.delete_namespaced_config_map("a", namespace)
        else:
            watching.stop()
    assert seen == [("ADDED", {"n": "0"}), ("MODIFIED", {"n": "1"}), ("DELETED", {"n": "1"})]


def test_watch_resumes(core, namespace):
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("a"))
    # The server ends it after a second.
    first = watch.Watch()
    options = {"timeout_seconds": 1, "resource_version": start}
    assert [event["type"] for event in first.stream(core.list_namespaced_config_map, namespace, **options)] == ["ADDED"]
    core.delete_namespaced_config_map("a", namespace)
    options["resource_version"] = first.resource_version
    second = watch.Watch().stream(core.list_namespaced_config_map, namespace, **options)
    assert [event["type"] for event in second] == ["DELETED"]


def test_watch_sends_bookmarks(core, namespace):
    options = {"allow_watch_bookmarks": True, "timeout_seconds": 60}
    for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, **options):
        assert event["type"] == "BOOKMARK"
        assert int(event["raw_object"]["metadata"]["resourceVersion"]) > 0
        break


def test_secrets_keep_bytes(core, namespace):
    body = client.V1Secret(
        metadata=client.V1ObjectMeta(name="s"),
        data={"bytes": base64.b64encode(b"\x00\xff").decode()},
        string_data={"text": "ü"},
    )
    created = core.create_namespaced_secret(namespace, body)
    assert {key: base64.b64decode(value) for key, value in created.data.items()} == {
        "bytes": b"\x00\xff",
        "text": "ü".encode(),
    }
    assert created.string_data is None and created.type == "Opaque"


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_dependents_are_deleted(core, namespace, propagation):
    owner = core.create_namespaced_config_map(namespace, config_map("owner"))
    reference = client.V1OwnerReference(
        api_version="v1",
        kind="ConfigMap",
        name="owner",
        uid=owner.metadata.uid,
        block_owner_deletion=True,
    )
    core.create_namespaced_config_map(namespace, config_map("owned", owner_references=[reference]))
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.delete_namespaced_config_map("owner", namespace, propagation_policy=propagation)
    ends = {"Background": ["owner", "owned"], "Foreground": ["owned", "owner"], "Orphan": ["owner"]}[propagation]
    deleted = []
    options = {"resource_version": start, "timeout_seconds": 60}
    for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, **options):
        if event["type"] == "DELETED":
            deleted.append(event["object"].metadata.name)
            if deleted == ends:
                break
    assert deleted == ends
    if propagation == "Orphan":
        assert core.read_namespaced_config_map("owned", namespace).metadata.owner_references is None


def running_pod(core, namespace):
    core.create_namespaced_pod(namespace, pod("p"))
    main = {"name": "main", "ready": True, "restartCount": 0, "image": "", "imageID": "", "state": {"running": {}}}
    body = {"status": {"phase": "Running", "containerStatuses": [main]}}
    core.patch_namespaced_pod_status("p", namespace, body, _content_type="application/merge-patch+json")


def test_commands_run(core, namespace):
    running_pod(core, namespace)
    # The stream replaces a method of the client that it gets, so use a separate one.
    own = client.CoreV1Api(client.ApiClient())
    session = stream(
        own.connect_get_namespaced_pod_exec,
        "p",
        namespace,
        command=["both"],
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    session.run_forever(timeout=60)
    assert (session.read_stdout(), session.read_stderr(), session.returncode) == ("to stdout\n", "to stderr\n", 0)


def test_ports_are_forwarded(core, namespace):
    running_pod(core, namespace)
    own = client.CoreV1Api(client.ApiClient())
    forwarded = portforward(own.connect_get_namespaced_pod_portforward, "p", namespace, ports="80")
    socket = forwarded.socket(80)
    socket.settimeout(60)
    socket.sendall(b"hello")
    assert socket.recv(5) == b"hello"
    socket.close()
    assert forwarded.error(80) is None
