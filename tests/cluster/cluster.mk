# The test cluster: the context that GRADEKEEPER_CONTEXT names, else a one-node Kubernetes that
# cluster.py builds and runs itself. Included by the Makefile at the top.
CLUSTER_PYTHON ?= python3
CLUSTER := $(CLUSTER_PYTHON) $(dir $(lastword $(MAKEFILE_LIST)))cluster.py
# The pinned helm in the cache; expanded only by the targets that use it.
HELM ?= $(shell $(CLUSTER) helm --path-only)

.PHONY: cluster-up cluster-down cluster-status helm
cluster-up: ## start the test cluster, or check the one that GRADEKEEPER_CONTEXT names
	@$(CLUSTER) up

cluster-down: ## stop the own test cluster and leave nothing of it behind
	@$(CLUSTER) down

cluster-status: ## components, node and problems of the test cluster
	@$(CLUSTER) status

helm: # the pinned helm, built into the cache when it is not there
	@$(CLUSTER) helm >/dev/null
