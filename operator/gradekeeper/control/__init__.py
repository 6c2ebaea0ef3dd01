"""The operator: kopf as watch transport, a pure plan, thin adapters."""
