"""Reads a TOML file into a pydantic model, with errors that name the file, the field and the reason."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from pydantic import BaseModel, ValidationError

from workflow_gym.errors import FormatError


def read_toml[M: BaseModel](path: Path, model: type[M]) -> M:
    """Return the content of `path` as a `model`.

    Raises:
        FormatError: the file is missing, is no TOML, or does not fit the model.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(f"{path}: the file does not exist") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError(f"{path}: {error}") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise FormatError(explain(path, error, model)) from None


def explain(path: Path, error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """Return a message that lists every problem as "file: field: reason", and guesses at misspelt field names."""
    lines = []
    for problem in error.errors():
        field = ".".join(str(part) for part in problem["loc"]) or "(whole file)"
        reason = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            reason = "there is no such field" + _guess(str(problem["loc"][-1]), problem["loc"][:-1], model)
        lines.append(f"{path}: {field}: {reason}")
    return "\n".join(lines)


def _guess(name: str, parents: tuple[int | str, ...], model: type[BaseModel] | None) -> str:
    for part in parents:
        if model is None or not isinstance(part, str):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [annotation, *getattr(annotation, "__args__", ())]
        model = next((kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
    near = difflib.get_close_matches(name, model.model_fields if model else (), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
