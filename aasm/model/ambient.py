# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Ambient authority: what a program can do merely because of what it inherits, told from names alone.

No value is looked at, here or by anybody who asks. What is found is a lower bound, never a detector: a name that means
nothing here may still carry authority.
"""

from __future__ import annotations

from enum import Enum
from typing import Mapping

from .domains import CapabilityDomain
from .requirements import CredentialPosture


class AmbientAuthorityKind(Enum):
    """What sort of authority a name stands for."""

    CLOUD_CREDENTIAL = "cloud_credential"
    SERVICE_TOKEN = "service_token"
    CONNECTION_STRING = "connection_string"
    SUPERVISOR_CREDENTIAL = "supervisor_credential"
    DELEGATED_AUTH_AGENT = "delegated_auth_agent"
    CLOUD_METADATA_ENDPOINT = "cloud_metadata_endpoint"


# The domains that have to be controlled before authority of a kind is out of reach: an agent is a channel, and a
# metadata endpoint answers whoever can connect to it.
CONTROLLED_BY: Mapping[AmbientAuthorityKind, tuple[CapabilityDomain, ...]] = {
    AmbientAuthorityKind.CLOUD_CREDENTIAL: (CapabilityDomain.CREDENTIAL,),
    AmbientAuthorityKind.SERVICE_TOKEN: (CapabilityDomain.CREDENTIAL,),
    AmbientAuthorityKind.CONNECTION_STRING: (CapabilityDomain.CREDENTIAL,),
    AmbientAuthorityKind.SUPERVISOR_CREDENTIAL: (CapabilityDomain.CREDENTIAL,),
    AmbientAuthorityKind.DELEGATED_AUTH_AGENT: (CapabilityDomain.CREDENTIAL, CapabilityDomain.IPC),
    AmbientAuthorityKind.CLOUD_METADATA_ENDPOINT: (CapabilityDomain.CREDENTIAL, CapabilityDomain.NETWORK_EGRESS),
}

# Parts of names, all in upper case.
SECRET_FRAGMENTS = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASS", "CRED", "AUTH")  # anywhere in a name
CONNECTION_SUFFIXES = ("_URL", "_URI", "_DSN")
SUPERVISOR_PREFIXES = ("AA_", "AASM_", "AGENT_ASSEMBLY_")  # together with a fragment
CLOUD_PREFIXES = ("AWS_", "AZURE_", "GCP_", "GCLOUD_", "GOOGLE_", "ALIYUN_", "OCI_")  # together with a fragment

# Whole names.
CLOUD_NAMES = ("KUBECONFIG", "BOTO_CONFIG", "CLOUDSDK_CONFIG")
AGENT_NAMES = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
    "CONTAINER_HOST", "PODMAN_HOST",
)  # fmt: skip
METADATA_NAMES = (
    "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "AWS_EC2_METADATA_DISABLED",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "ECS_CONTAINER_METADATA_URI",
    "ECS_CONTAINER_METADATA_URI_V4", "GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP", "IMDS_ENDPOINT",
    "MSI_ENDPOINT", "IDENTITY_ENDPOINT", "AZURE_POD_IDENTITY_AUTHORITY_HOST",
)  # fmt: skip

# Where clouds hand out credentials to whoever can connect, whether or not a variable says so.
METADATA_ADDRESSES = (
    "169.254.169.254", "fd00:ec2::254", "168.63.129.16", "metadata.google.internal", "metadata.goog", "169.254.170.2",
)  # fmt: skip


def authority_kind(name: bytes) -> AmbientAuthorityKind | None:
    """Return the kind of authority that a variable of this name usually carries, or None. Any bytes are a name."""
    upper = name.decode("utf-8", "surrogateescape").upper()
    secret = any(fragment in upper for fragment in SECRET_FRAGMENTS)
    rules = (  # the first that holds decides
        (AmbientAuthorityKind.CLOUD_METADATA_ENDPOINT, upper in METADATA_NAMES),
        (AmbientAuthorityKind.DELEGATED_AUTH_AGENT, upper in AGENT_NAMES),
        (AmbientAuthorityKind.SUPERVISOR_CREDENTIAL, secret and upper.startswith(SUPERVISOR_PREFIXES)),
        (AmbientAuthorityKind.CLOUD_CREDENTIAL, upper in CLOUD_NAMES or (secret and upper.startswith(CLOUD_PREFIXES))),
        (AmbientAuthorityKind.CONNECTION_STRING, upper.endswith(CONNECTION_SUFFIXES)),
        (AmbientAuthorityKind.SERVICE_TOKEN, secret),
    )
    return next((kind for kind, holds in rules if holds), None)


def looks_like_authority(name: bytes) -> bool:
    """Say whether a variable of this name usually carries authority."""
    return authority_kind(name) is not None


def supervisors_own(name: bytes) -> bool:
    """Say whether a variable of this name is the supervisor's own authority, which no option passes on."""
    return authority_kind(name) is AmbientAuthorityKind.SUPERVISOR_CREDENTIAL


def contradictions(posture: CredentialPosture) -> tuple[str, ...]:
    """Return the names that are said to be removed and to reach the program as well, sorted."""
    return tuple(sorted(set(posture.removed) & {*posture.delegated, *posture.ambient_unremoved}))
