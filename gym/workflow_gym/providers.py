"""Providers by name. One provider of a name serves all environments of a process, and closes with the last of them."""

from __future__ import annotations

import os
import threading

from workflow_gym.errors import UnknownNameError
from workflow_gym.machines.base import Provider
from workflow_gym.plugins import load_class, third_party

_BUILT_IN = {
    "qemu": "workflow_gym.machines.qemu.provider:QemuProvider",
    "fake": "workflow_gym.machines.fake:FakeProvider",
}
_GROUP = "workflow_gym.providers"


def provider_class(name: str) -> type[Provider]:
    """Return the provider class of that name, or that a "module:Name" string names.

    Raises:
        UnknownNameError: there is none of that name.
        PluginError: it cannot be loaded.
    """
    if ":" in name:
        return load_class(name, Provider, "provider")  # type: ignore[type-abstract]
    known = third_party(_GROUP) | _BUILT_IN
    if name not in known:
        raise UnknownNameError("provider", name, known)
    return load_class(known[name], Provider, "provider")  # type: ignore[type-abstract]


class SharedProvider:
    """A share in the one provider of a name in this process. `close` gives the share back; it may be called twice."""

    _lock = threading.Lock()
    _open: dict[tuple[str, int], tuple[Provider, int]] = {}

    def __init__(self, name: str) -> None:
        """Take a share, creating the provider if this is the first. Raises as `provider_class` and its constructor."""
        self._key = (name, os.getpid())  # A forked process needs a provider of its own.
        self._held = True
        kind = provider_class(name)
        with self._lock:
            provider, shares = self._open.get(self._key) or (kind(), 0)
            self._open[self._key] = (provider, shares + 1)
        self.provider = provider

    def close(self) -> None:
        """Give the share back; the last one closes the provider."""
        if not self._held or self._key[1] != os.getpid():
            return
        self._held = False
        with self._lock:
            provider, shares = self._open[self._key]
            if shares > 1:
                self._open[self._key] = (provider, shares - 1)
                return
            del self._open[self._key]
        provider.close()
