# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The screen for credential material in free text, and the tagged form in which free text is recorded.

The screen is a floor, not a proof: it knows a handful of shapes, so that a text it lets through may still hold a
secret. The first line of defence is that values which may carry secrets are never recorded at all.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import one_line


class Shape(NamedTuple):
    """One shape of credential. The expression is compiled only for a text that holds one of the markers."""

    name: str
    markers: tuple[str, ...]  # in lower case, searched in the lower-cased text
    expression: str


SHAPES = (
    Shape("private_key_block", ("private key-----",), r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"),
    Shape("aws_access_key", ("akia", "asia"), r"(?<![A-Z0-9])A[KS]IA[0-9A-Z]{16}(?![A-Z0-9])"),
    Shape(
        "github_token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(gh[pousr]|github_pat)_[A-Za-z0-9_]{20,}",
    ),
    Shape("gitlab_token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{20,}"),
    Shape("sk_api_key", ("sk-",), r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}"),  # OpenAI, Anthropic and others
    Shape("slack_token", ("xox", "xapp-"), r"(xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    Shape("google_api_key", ("aiza",), r"AIza[0-9A-Za-z_-]{35}"),
    Shape("json_web_token", ("eyj",), r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\."),
    Shape("bearer_token", ("bearer",), r"(?i)bearer +[A-Za-z0-9._~+/=-]{16,}"),
    Shape(
        "assignment",
        ("password", "passwd", "secret", "token", "api_key", "apikey", "api-key"),
        r"(?i)(password|passwd|secret|token|api[_-]?key) {0,2}= {0,2}[^\s=]",
    ),
    Shape("url_userinfo", ("://",), r"://[^/?#\s@]+@"),
)


def credential_shape(text: str) -> str:
    """Return the name of the first shape of credential found in `text`, or the empty text."""
    lowered = text.lower()
    for shape in SHAPES:
        if any(marker in lowered for marker in shape.markers):
            import re  # rarely reached: most texts hold no marker

            if re.search(shape.expression, text):
                return shape.name
    return ""


def free_text(text: str) -> dict[str, object]:
    """Return the tagged form of `text`, as one line: with its value, or withheld whole."""
    if credential_shape(text):
        return {"kind": "withheld", "value": None}
    return {"kind": "value", "value": one_line(text)}


def token_text(word: str) -> dict[str, object]:
    """Return the tagged form of a word that comes from a vocabulary of ours."""
    return {"kind": "token", "value": word}
