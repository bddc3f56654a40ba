"""The card of a plan: its verdict, what fits, how fast, where the time goes; live while it is made, then for good."""

from .live import PlanView, view_kind
from .shown import mark_shown, show_plan
from .static import plan_bundle, plan_html
from .text import plan_text

__all__ = ["PlanView", "mark_shown", "plan_bundle", "plan_html", "plan_text", "show_plan", "view_kind"]
