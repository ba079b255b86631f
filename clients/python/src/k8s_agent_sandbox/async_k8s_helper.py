"""Calls of the Kubernetes API."""

from ._async.k8s_helper import AsyncK8sHelper as AsyncK8sHelper
