# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Authority by name: which class a name falls into, in which order the classes are asked, and what controls each."""

from __future__ import annotations

from typing import Mapping, Optional, Tuple

import pytest

from aasm.model.ambient import (
    CONTROLLED_BY,
    METADATA_ADDRESSES,
    AmbientAuthorityKind as Kind,
    authority_kind,
    contradictions,
    looks_like_authority,
    supervisors_own,
)
from aasm.model.domains import CapabilityDomain as Domain
from aasm.model.environment import parse_option, replaced, untouched
from aasm.model.requirements import CredentialPosture

NAMES: Mapping[Optional[Kind], str] = {
    Kind.CLOUD_METADATA_ENDPOINT: """
        AWS_EC2_METADATA_SERVICE_ENDPOINT AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE AWS_EC2_METADATA_DISABLED
        AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_CREDENTIALS_RELATIVE_URI ECS_CONTAINER_METADATA_URI
        ECS_CONTAINER_METADATA_URI_V4 GCE_METADATA_HOST GCE_METADATA_ROOT GCE_METADATA_IP IMDS_ENDPOINT MSI_ENDPOINT
        IDENTITY_ENDPOINT AZURE_POD_IDENTITY_AUTHORITY_HOST gce_metadata_host Imds_Endpoint""",
    Kind.DELEGATED_AUTH_AGENT: """
        SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO GNUPGHOME DBUS_SESSION_BUS_ADDRESS DOCKER_HOST CONTAINER_HOST
        PODMAN_HOST ssh_auth_sock gnupghome""",
    Kind.SUPERVISOR_CREDENTIAL: """
        AA_TOKEN AA_API_KEY AASM_SECRET AGENT_ASSEMBLY_PASSWORD AA_PROXY_PROVIDER_KEYS AA_PROXY_CREDENTIAL_ACTION
        aa_token Aasm_Auth AA_KEY_URL""",
    Kind.CLOUD_CREDENTIAL: """
        AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_WEB_IDENTITY_TOKEN_FILE AZURE_CLIENT_SECRET
        GCP_KEY GCLOUD_TOKEN GOOGLE_APPLICATION_CREDENTIALS ALIYUN_SECRET OCI_KEY_FILE KUBECONFIG BOTO_CONFIG
        CLOUDSDK_CONFIG kubeconfig AWS_AUTH_URL""",
    Kind.CONNECTION_STRING: """
        DATABASE_URL MONGO_URI SENTRY_DSN _URL redis_url GITHUB_TOKEN_URL AA_GATEWAY_URL AWS_ENDPOINT_URL""",
    Kind.SERVICE_TOKEN: """
        GITHUB_TOKEN OPENAI_API_KEY MY_SECRET PGPASSWORD SSHPASS GIT_CREDENTIALS NPM_AUTH TOKEN monkey_business
        PASSAGE XAA_TOKEN AASMTOKEN XAWS_KEY""",
    None: """
        PATH LANG TERM HOME EDITOR HTTPS_PROXY AA_GATEWAY_ENDPOINT AA_AGENT_ID AASM_STATE_DIR AGENT_ASSEMBLY_HOME
        AWS_REGION AZURE_TENANT GOOGLE_CLOUD_PROJECT DATABASE_URLS URL XKUBECONFIG KUBECONFIG_ DOCKER_HOSTS
        GCE_METADATA_HOSTNAME""",
}  # fmt: skip


def rows() -> list[tuple[str, Optional[Kind]]]:
    return [(name, kind) for kind, names in NAMES.items() for name in names.split()]


@pytest.mark.parametrize(("name", "kind"), rows())
def test_each_name_has_its_class(name: str, kind: Optional[Kind]) -> None:
    given = name.encode()
    assert authority_kind(given) is kind
    assert looks_like_authority(given) is (kind is not None)
    assert supervisors_own(given) is (kind is Kind.SUPERVISOR_CREDENTIAL)


# Every name of each pair has all marks of the class that it is not in.
@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        (b"AWS_CONTAINER_CREDENTIALS_FULL_URI", Kind.CLOUD_METADATA_ENDPOINT, b"AWS_CREDENTIALS"),
        (b"SSH_AUTH_SOCK", Kind.DELEGATED_AUTH_AGENT, b"SSH_AUTH"),
        (b"AA_TOKEN_URL", Kind.SUPERVISOR_CREDENTIAL, b"A_TOKEN_URL"),
        (b"AWS_TOKEN_URL", Kind.CLOUD_CREDENTIAL, b"ABC_TOKEN_URL"),
        (b"TOKEN_URL", Kind.CONNECTION_STRING, b"TOKEN_URLS"),
    ],
)
def test_the_first_class_that_fits_decides(name: bytes, first: Kind, second: bytes) -> None:
    assert authority_kind(name) is first
    assert authority_kind(second) not in (first, None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (b"", None),
        (b"\xff\xfe", None),
        (b"\xff_TOKEN", Kind.SERVICE_TOKEN),
        (b"AA_\xff_KEY", Kind.SUPERVISOR_CREDENTIAL),
        (b"AWS_\x80\x81_secret", Kind.CLOUD_CREDENTIAL),
        (b"\xc3_url", Kind.CONNECTION_STRING),
        ("ÄÖ_PASSWÖRD".encode(), Kind.SERVICE_TOKEN),  # PASS
        ("schlüssel".encode(), None),
        (b"TOK\xffEN", None),
        (b"TOKEN" * 10000, Kind.SERVICE_TOKEN),
    ],
)
def test_a_name_may_hold_any_bytes(name: bytes, kind: Optional[Kind]) -> None:
    assert authority_kind(name) is kind


def test_every_class_is_reached_and_says_what_controls_it() -> None:
    assert set(NAMES) == {*Kind, None}
    channels = {Kind.DELEGATED_AUTH_AGENT: Domain.IPC, Kind.CLOUD_METADATA_ENDPOINT: Domain.NETWORK_EGRESS}
    expected = {kind: (Domain.CREDENTIAL, *([channels[kind]] if kind in channels else [])) for kind in Kind}
    assert CONTROLLED_BY == expected


def test_the_metadata_addresses() -> None:
    assert set(METADATA_ADDRESSES) == {
        "169.254.169.254", "fd00:ec2::254", "168.63.129.16", "metadata.google.internal", "metadata.goog",
        "169.254.170.2",
    }  # fmt: skip


# --- the supervisor's own ---------------------------------------------------------------------------

INHERITED = {b"AA_GATEWAY_TOKEN": b"s", b"aasm_\xff_key": b"s", b"AASM_STATE_DIR": b"/s", b"GITHUB_TOKEN": b"s"}


@pytest.mark.parametrize("given", [None, b"other"])
def test_the_supervisors_authority_is_removed_even_when_it_is_named(given: Optional[bytes]) -> None:
    named = {name: given for name in INHERITED}
    made = replaced(INHERITED, named, ())
    assert {entry.name for entry in made.entries} == {b"AASM_STATE_DIR", b"GITHUB_TOKEN"}
    assert made.posture.removed == ("AA_GATEWAY_TOKEN", "aasm_\udcff_key")
    assert made.posture.delegated == ("GITHUB_TOKEN",)
    assert contradictions(made.posture) == ()


def test_the_supervisors_authority_does_not_travel_by_itself() -> None:
    made = replaced(INHERITED, {}, ())
    assert made.entries == ()
    assert made.posture.removed == ("AA_GATEWAY_TOKEN", "GITHUB_TOKEN", "aasm_\udcff_key")


def test_a_name_that_is_absent_is_not_counted_as_removed() -> None:
    assert replaced({}, {b"AA_TOKEN": b"x"}, ()).posture == CredentialPosture()


def test_without_a_boundary_it_stays_and_is_said_to() -> None:
    made = untouched(INHERITED, {})
    assert made.posture.ambient_unremoved == ("AA_GATEWAY_TOKEN", "GITHUB_TOKEN", "aasm_\udcff_key")


@pytest.mark.parametrize("text", ["\udcff", "\ud800=x", "AA_\udcff"])
def test_an_option_may_hold_what_is_not_text(text: str) -> None:
    assert parse_option(text)[0] == text.partition("=")[0]


# --- contradictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("removed", "delegated", "ambient", "expected"),
    [
        ((), (), (), ()),
        (("A", "B"), ("C",), ("D",), ()),
        (("A", "B"), ("B",), (), ("B",)),
        (("A", "B"), (), ("A",), ("A",)),
        (("B", "A"), ("B",), ("A",), ("A", "B")),
        (("A",), ("A",), ("A",), ("A",)),
        ((), ("A",), ("A",), ()),  # merely said twice
        (("a",), ("A",), (), ()),  # names of variables differ by case
    ],
)
def test_a_name_cannot_be_removed_and_reach_the_program(
    removed: Tuple[str, ...], delegated: Tuple[str, ...], ambient: Tuple[str, ...], expected: Tuple[str, ...]
) -> None:
    assert contradictions(CredentialPosture(removed, delegated, ambient)) == expected
