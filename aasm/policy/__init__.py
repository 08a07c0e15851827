# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Policy: found (locate), read (reader, yaml, inline, strict_json) and validated (document, sections, places).

Nothing in this package asks what the host can enforce, and nothing in it starts a program.
"""
