"""The default provider: plain QEMU processes forked from templates, no daemon."""
