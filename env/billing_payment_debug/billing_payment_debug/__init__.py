"""Debug a Java billing service with seeded defects: the catalog of defects, and the scoring.

`defects` and `scoring` need no RL framework and never import one.
"""
