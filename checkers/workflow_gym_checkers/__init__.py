"""Checkers: each looks at collected evidence and says which requirements are met. One module per format."""
