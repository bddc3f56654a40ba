"""A rule or a trap explained: a paragraph, and a small picture with the numbers at hand."""

from __future__ import annotations

from .bundle import topic_bundle, topics_bundle

__all__ = ["topic_bundle", "topics_bundle"]
