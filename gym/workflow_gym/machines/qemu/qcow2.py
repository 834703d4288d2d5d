"""Reads the head of qcow2 files: https://www.qemu.org/docs/master/interop/qcow2.html."""

from __future__ import annotations

from pathlib import Path

from workflow_gym.errors import TemplateError


def virtual_size(disk: Path) -> int:
    """Return the size of the disk that a qcow2 file stands for, in bytes."""
    return int.from_bytes(_head(disk)[24:32], "big")


def backing_chain(disk: Path) -> list[Path]:
    """Return a qcow2 file and all that it is layered over, from the top down.

    Raises:
        TemplateError: one of them is no qcow2 file, or they are layered in a circle.
        FileNotFoundError: one of them is not there.
    """
    chain = [disk]
    while len(chain) < 20:
        offset, length = (int.from_bytes(_head(chain[-1])[start:end], "big") for start, end in ((8, 16), (16, 20)))
        if offset == 0:
            return chain
        with chain[-1].open("rb") as file:
            file.seek(offset)
            chain.append(chain[-1].parent / file.read(min(length, 1023)).decode())
    raise TemplateError(f"{disk}: its layers do not end")


def _head(disk: Path) -> bytes:
    with disk.open("rb") as file:
        head = file.read(32)
    if len(head) < 32 or head[:4] != b"QFI\xfb":
        raise TemplateError(f"{disk} is no qcow2 file")
    return head
