"""The referee with a ticker that is told what it sees; all else is real.

Arguments: the folder of the package, the layout, and a finding and a share: while anything runs in
the lane the ticker finds the one, and after a sweep the other.
"""

import sys

sys.path.insert(0, sys.argv[1])

from gradekeeper.referee import grading
from gradekeeper.referee.__main__ import main
from gradekeeper.referee.clocks import Finding, Ticker, Window


class Told(Ticker):
    """A ticker that ticks, and says something else."""

    def find(self, start, end, patience=2.0):
        return Window(Finding(sys.argv[3]), 0.1)

    def watch(self, seconds=2.0):
        return float(sys.argv[4])


if __name__ == "__main__":
    grading.Ticker = Told
    sys.exit(main([sys.argv[2]]))
