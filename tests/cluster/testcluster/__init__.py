"""A real one-node Kubernetes for tests, on machines without Docker or a registry.

Standard library only: it runs with the system's ``python3`` before any virtual environment exists.
The entry points are ``cluster.py`` (start, stop, look) and ``images.py`` (build and load images)
in the folder above.
"""
