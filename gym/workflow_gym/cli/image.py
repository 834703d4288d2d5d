"""`workflow-gym image …`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from workflow_gym.cli.console import long_work, out
from workflow_gym.images.build import build_image, find_built
from workflow_gym.images.recipe import image_names, load_image
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.paths import CachePaths

app = typer.Typer(help="Build and list the images that machines are made from.", no_args_is_help=True)


@app.command("build")
def build(
    name: Annotated[str, typer.Argument(help="The image, as `workflow-gym image list` shows it.")],
    force: Annotated[bool, typer.Option(help="Build it even if it is there.")] = False,
    template: Annotated[
        bool, typer.Option(help="Boot it too, and freeze the template that machines fork from.")
    ] = True,
) -> None:
    """Build an image (and what it is based on), boot it once and freeze its template."""
    image = load_image(name)
    with long_work() as progress:
        built = build_image(image, CachePaths.default(), progress, force=force)
        if template:
            provider = QemuProvider(spares=0)
            provider.progress = progress
            try:
                provider.image_template(name)
            finally:
                provider.close()
    out.print(f"[green]built[/] {built.key} in {built.folder}", highlight=False)


@app.command("list")
def list_images() -> None:
    """List the images: what they are for, and whether they are built."""
    cache = CachePaths.default()
    table = Table("image", "built", "memory", "description", box=None, pad_edge=False)
    for name in image_names():
        image = load_image(name)
        built = find_built(image, cache)
        size = f"{built.disk.stat().st_blocks * 512 / (1 << 20):.0f} MiB" if built else "no"
        table.add_row(name, size, f"{image.recipe.machine.memory_mb} MiB", image.recipe.description)
    out.print(table)
