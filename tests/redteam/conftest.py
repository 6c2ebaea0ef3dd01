"""The small suite of the referee's tests, graded by the real engine."""

from referee.conftest import bundle, lane

__all__ = ["bundle", "lane"]
