"""The one exception of the test cluster.

``ClusterError`` carries sentences for a person: what failed, with the last lines of the log that
tells why. Command lines print it without a traceback and exit with status 1.
"""


class ClusterError(Exception):
    """Something the person who runs the command has to know; ``str()`` of it is the report."""
