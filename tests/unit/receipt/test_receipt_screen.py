# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The screen: each shape it knows is found and withheld whole, ordinary text passes."""

from __future__ import annotations

import pytest

from aasm.receipt.screen import SHAPES, credential_shape, free_text, token_text

# Written in pieces, so that no scanner takes this file for a leak.
SECRETS = {
    "private_key_block": "-----BEGIN OPENSSH PRIV" + "ATE KEY-----\nb3BlbnNzaC1r",
    "aws_access_key": "AKI" + "AIOSFODNN7EXAMPLE",
    "github_token": "gh" + "p_0123456789abcdefghijABCDEFGHIJ",
    "gitlab_token": "glp" + "at-0123456789abcdefghij",
    "sk_api_key": "s" + "k-ant-api03-0123456789abcdef",
    "slack_token": "xo" + "xb-123456789012-abcdef",
    "google_api_key": "AIz" + "a" + "0123456789abcdefghijABCDEFGHIJ01234",
    "json_web_token": "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.",
    "bearer_token": "Authorization: Bear" + "er 0123456789abcdef",
    "assignment": "db_pass" + "word=hunter2",
    "url_userinfo": "https://someone:some" + "thing@example.org/x",
}


def test_every_shape_has_an_example() -> None:
    assert set(SECRETS) == {shape.name for shape in SHAPES}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("around", ["{}", "a {} b", "/etc/x/{}/y", "key:{}\n"])
def test_a_credential_is_withheld_whole(name: str, around: str) -> None:
    text = around.format(SECRETS[name])
    assert credential_shape(text) == name
    assert free_text(text) == {"kind": "withheld", "value": None}


@pytest.mark.parametrize(
    "text",
    [
        "SECRET=x",
        "API_KEY = abc",
        "api-key=abc",
        "Token=1",
        "https://token@host/x",
        "gith" + "ub_pat_0123456789abcdefghijAB",
        "ASI" + "AIOSFODNN7EXAMPLE",
    ],
)
def test_variants_are_found(text: str) -> None:
    assert credential_shape(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "/etc/aasm/policy.yaml",
        "timing=pre, descendants=process_tree",
        "planned=prevent_before_effect, achieved=nothing, reason=domain_unsupported",
        "max_tokens=5",
        "https://example.org/a@b",
        "task-force-and-a-very-long-name-of-a-file",
        "AKIA",
        "a public key, not a private one",
    ],
)
def test_ordinary_text_passes(text: str) -> None:
    assert free_text(text) == {"kind": "value", "value": text}


def test_text_is_recorded_as_one_line_without_del_or_surrogates() -> None:
    assert free_text("a\nb\x7f\udcff\u2028\ud800") == {"kind": "value", "value": "a\\x0ab\\x7f\\xff\\u2028\\ud800"}


def test_a_token_is_tagged_as_one() -> None:
    assert token_text("kernel_release") == {"kind": "token", "value": "kernel_release"}
