"""Machines and the providers that make them."""
