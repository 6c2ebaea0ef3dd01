"""What the attacks share: the small suite's gold, and gradings of it."""

from referee.test_grading import ACCOUNT, COUNTER, counter, events, grade, outcomes

__all__ = ["ACCOUNT", "COUNTER", "counter", "events", "grade", "outcomes"]
