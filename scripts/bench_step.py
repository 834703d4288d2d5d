"""Measures a step: a click and the settled screenshot, against a relay of the usual kind in the same guest.

Run by `scripts/bench_step`, whose --help explains it.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import Figure, at_least, at_most, plain, table
from PIL import Image as Picture

from workflow_gym.actions import Click, Point
from workflow_gym.cli.console import long_work, out
from workflow_gym.errors import HostError, MachineError
from workflow_gym.machines.events import Elapsed
from workflow_gym.machines.hands import events_for, play
from workflow_gym.machines.qemu.machine import QemuMachine
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.machines.settle import DEFAULT_BOUNDS, settle
from workflow_gym.paths import write_atomically
from workflow_gym.self_check import IMAGE

RELAY = '''
"""The usual kind of relay: each action starts a Python that imports pyautogui; the answer is a PNG of the screen."""
import http.server, io, subprocess
from PIL import ImageGrab

class Relay(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        code = self.rfile.read(int(self.headers["Content-Length"])).decode()
        subprocess.run(["python3", "-c", "import pyautogui; pyautogui.FAILSAFE = False; " + code], check=True)
        picture = io.BytesIO()
        ImageGrab.grab().save(picture, "PNG")
        self.send_response(200)
        self.send_header("Content-Length", str(len(picture.getvalue())))
        self.end_headers()
        self.wfile.write(picture.getvalue())

    def log_message(self, *args):
        pass

print("ready", flush=True)
http.server.HTTPServer(("127.0.0.1", 5000), Relay).serve_forever()
'''
_PACKAGES = ("pyautogui", "pymsgbox", "pytweening", "pyscreeze", "pygetwindow", "mouseinfo", "pyrect", "pyperclip")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench_step")
    parser.add_argument("--steps", type=int, default=50, metavar="N")
    parser.add_argument("--relay-steps", type=int, default=10, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    provider = QemuProvider()
    try:
        with long_work() as progress:
            provider.progress = progress
            template = provider.image_template(IMAGE)
            with provider.fork(template) as machine:
                progress("installing pyautogui in the guest", "")
                relay = Tunnel(machine)
                figures = measure(machine, relay, options.steps, options.relay_steps, progress)
    finally:
        provider.close()
    out.print("A click and the screenshot that follows it, all in one run and one guest", highlight=False)
    out.print(table(figures))
    if options.json:
        write_atomically(options.json, json.dumps([figure.to_json() for figure in figures], indent=2) + "\n")


class Tunnel:
    """The relay in the guest, reached by a plain socket through SSH."""

    def __init__(self, machine: QemuMachine) -> None:
        """Install pyautogui from PyPI in the guest and start the relay."""
        self._machine = machine
        machine.resume()
        with tempfile.TemporaryDirectory() as name:
            command = [
                "uv",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--target",
                name,
                "--python",
                sys.executable,
                *_PACKAGES,
            ]
            try:
                subprocess.run(command, check=True, capture_output=True, text=True)
            except subprocess.CalledProcessError as error:
                raise HostError(f"cannot fetch pyautogui from PyPI: {error.stderr}") from None
            for path in sorted(Path(name).rglob("*.py")):
                machine.shell.write_file(f"/home/user/relay/{path.relative_to(name)}", path.read_bytes(), user="user")
        machine.shell.write_file("/home/user/relay/relay.py", RELAY.encode(), user="user")
        environment = "--setenv=PYTHONPATH=/home/user/relay"
        machine.shell.run(
            ["systemd-run", "--unit=relay", environment, "as-user", "env", "PYTHONPATH=/home/user/relay", "python3",
             "/home/user/relay/relay.py"]
        )  # fmt: skip
        end = time.monotonic() + 60
        while "ready" not in machine.shell.run(["journalctl", "-u", "relay", "-o", "cat"]):
            if time.monotonic() > end:
                raise MachineError("the relay did not start: " + machine.shell.run(["journalctl", "-u", "relay"]))
            time.sleep(0.5)

    def act(self, code: str) -> bytes:
        """Have the relay run one line of pyautogui, and return the PNG that it answers with."""
        channel = self._machine.shell.open_tunnel(5000)
        body = code.encode()
        try:
            channel.sendall(b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            answer = bytearray()
            while chunk := channel.recv(1 << 16):
                answer += chunk
        finally:
            channel.close()
        head, _, png = bytes(answer).partition(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise MachineError(f"the relay answered {head[:200]!r}")
        return png


def measure(
    machine: QemuMachine, relay: Tunnel, steps: int, relay_steps: int, progress: Callable[[str, str], None]
) -> list[Figure]:
    """Return the figures: ours, the relay's, and the floor, interleaved."""
    ours, overhead, cpu, theirs, floor = [], [], [], [], []
    png_bytes = 0
    for number in range(steps):
        progress(f"step {number + 1} of {steps}", "")
        point = Point(x=200 + number % 10 * 80, y=500 + number % 5 * 40)
        wall, beyond, used = our_step(machine, point)
        ours.append(wall)
        overhead.append(beyond)
        cpu.append(used)
        start = time.perf_counter()
        machine.screenshot()
        floor.append(time.perf_counter() - start)
        if number < relay_steps:
            machine.resume()
            start = time.perf_counter()
            png = relay.act(f"pyautogui.click({int(point.x)}, {int(point.y)})")
            theirs.append(time.perf_counter() - start)
            png_bytes = len(png)
            Picture.open(io.BytesIO(png)).verify()
            settle(machine)
            machine.pause()
    buffer = io.BytesIO()
    Picture.fromarray(machine.screenshot()).save(buffer, "PNG", compress_level=1)
    return [
        plain("our step: click, settle, screenshot", "s", ours),
        at_most("  of it beyond input pacing and settle window", "s", overhead, 0.020),
        plain("  of it CPU of the harness", "s", cpu),
        plain("relay: HTTP, pyautogui, PNG (does not settle)", "s", theirs),
        at_least("relay ÷ ours, medians", "x", [statistics.median(theirs) / statistics.median(ours)], 5),
        plain("floor: one screendump", "s", floor),
        plain("our PNG (level 1)", "MB", [len(buffer.getvalue()) / 1e6]),
        plain("the relay's PNG", "MB", [png_bytes / 1e6]),
    ]


def our_step(machine: QemuMachine, point: Point) -> tuple[float, float, float]:
    """Return the wall time of one step, the part beyond input pacing and settle window, and our CPU; in seconds."""
    events = events_for(Click(point=point))
    pacing = sum(event.seconds for event in events if isinstance(event, Elapsed))
    start, cpu = time.perf_counter(), time.process_time()
    machine.resume()
    play(machine, events)
    settled = settle(machine)
    machine.pause()
    machine.screenshot()
    wall, used = time.perf_counter() - start, time.process_time() - cpu
    waited = max(settled.seconds, DEFAULT_BOUNDS.quiet)
    return wall, wall - pacing - waited, used


if __name__ == "__main__":
    main()
