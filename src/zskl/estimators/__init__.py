"""The contract of all estimators, the kernel classifier, and what a fitted estimator can be asked."""
