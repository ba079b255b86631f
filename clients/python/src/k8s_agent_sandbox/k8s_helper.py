"""Calls of the Kubernetes API."""

from ._sync.k8s_helper import K8sHelper as K8sHelper
