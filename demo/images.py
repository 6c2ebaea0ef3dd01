"""Building the images from their ordinary Dockerfiles and loading them into the cluster."""

from __future__ import annotations
