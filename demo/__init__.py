"""From a cluster to verified verdicts: what `make demo` does, and what the e2e tests check.

    python -m demo images    # build every image and load it into the cluster
    python -m demo install   # install the chart, publish the suite, wait until it is admitted
    python -m demo suite DIR # install, publish a suite of your own, wait until it is admitted
    python -m demo run       # install, grade ten submissions, verify each verdict offline
    python -m demo.local     # grade the submissions on this machine, without a cluster

Everything goes the way that a user would go: kubectl, helm and the `gradekeeper` command.
"""
