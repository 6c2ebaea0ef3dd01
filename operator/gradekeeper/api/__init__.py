"""The API `gradekeeper.dev/v1alpha1` in Python: specs, statuses, reasons, names, CRDs. Pure."""
