"""Agents: the expert player, the ones that frame a score, and adapters to models."""
