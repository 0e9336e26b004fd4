"""Estimates of runs from judgments of people and of a model."""
