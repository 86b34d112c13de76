"""Copying: the home as an export, an export as a home."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import BinaryIO

from ringwood import config as settings
from ringwood import home as homes
from ringwood.capture import spool
from ringwood.capture.consent import PAUSED_FILE, PAUSED_SPACES_FILE
from ringwood.engine.sqlite import open_loader
from ringwood.errors import StorageError, UsageError
from ringwood.memory.base import Opened
from ringwood.upkeep.copies.backup import BackedUp, BackupPlan, backup
from ringwood.upkeep.copies.export import Exported, Wanted, durable_file, export, require_file
from ringwood.upkeep.copies.restore import Restored, restore

SMALL_FILES = (homes.CONFIG_FILE, PAUSED_FILE, PAUSED_SPACES_FILE)
"""Files of a home that are of lasting value and hold no key."""

_STAGING = "restoring-"
"""What the folder is called in which an export is read, before the home takes it over."""


class Copying(Opened):
    """Takes the home as a whole."""

    def export(
        self,
        target: str | Path | BinaryIO,
        *,
        vectors: bool = True,
        undone: bool = False,
        on_document: Callable[[int, int], None] = lambda done, total: None,
    ) -> Exported:
        """Write all of lasting value as lines of JSON; the same content gives the same bytes.

        Args:
            target: a file's path, or something to write into. The file gets its name when it is
                whole and synced, readable for its owner only. What is there and no file, as a pipe,
                is written into.
            vectors: False leaves vectors out: whoever restores it makes them again.
            undone: also say which merges were undone, so that they stay so where it is restored.
                Else the export after an undo is that of before the dream.
            on_document: told how many of how many documents are written.

        Raises:
            NoHomeError: when there is no home yet.
            UsageError: when the target is a folder, or lies in the home.
            StorageError: when the disk refuses.
        """
        engine = self._opened.engine()
        if isinstance(target, (str, Path)):
            self.require_outside(Path(target))
            require_file(Path(target))
        self._opened.write_uses()
        embeds = self._opened.choice().embeds
        wanted = Wanted(
            files=self._small_files(settings.OF_THE_MACHINE),
            vectors=vectors,
            undone=undone,
            pending=self._embedded_tiers if embeds else (),
        )
        if isinstance(target, (str, Path)):
            with durable_file(Path(target)) as file:
                done = export(engine, file, wanted, on_document)
        else:
            done = export(engine, target, wanted, on_document)
        return replace(done, spooled=len(spool.waiting(self.home)))

    def backup(
        self,
        target: str | Path,
        *,
        dry_run: bool = False,
        on_page: Callable[[int, int], None] = lambda done, total: None,
    ) -> BackedUp:
        """Copy the home into a new folder that opens as a home, while others write.

        Args:
            target: a folder that is not there, or is empty.
            dry_run: write nothing, only say what it would take.
            on_page: told how many of how many database pages are copied.

        Raises:
            NoHomeError: when there is no home yet.
            UsageError: when the target holds something, or lies in the home.
            StorageError: when the disk refuses, or has too little room.
        """
        engine = self._opened.engine()
        self._opened.write_uses()
        files = self._small_files(settings.PLACES)
        plan = BackupPlan(Path(self.home), Path(target).expanduser(), files, dry_run)
        return backup(engine, plan, on_page)

    def restore(
        self,
        source: str | Path | BinaryIO,
        *,
        on_document: Callable[[int], None] = lambda done: None,
    ) -> Restored:
        """Make this home, which holds nothing yet, what an export was made of.

        All of it is read and checked first; what does not fit leaves everything as it was.

        Args:
            source: a file's path, or something to read from.
            on_document: told how many documents are read.

        Raises:
            UsageError: when the home holds something.
            ExportError: when it is no whole export.
            SchemaError: when a newer Ringwood wrote it.
            StorageError: when it cannot be read, or the disk refuses.
        """
        for left in Path(self.home).glob(f"{_STAGING}*"):  # by somebody who was killed
            rmtree(left, ignore_errors=True)
        if homes.exists(self.home) and not self._opened.engine().is_empty():
            raise UsageError(
                f"The home {self.home} holds something already: an export is read into an empty"
                " one only.",
                mend="give the same with --home DIR, where DIR is a new folder",
            )
        with _opened(source) as file, self._staging() as folder:
            with open_loader(folder) as loader:
                restored = restore(file, loader, SMALL_FILES, on_document)
            self._opened.engine(create=True).fill(folder)
        self._place(restored)
        self._opened.wake()
        return restored

    def _small_files(self, left_out: tuple[str, ...]) -> dict[str, str]:
        """Read the small files that are there, some settings left out."""
        files = {}
        for name in SMALL_FILES:
            path = Path(self.home) / name
            if not path.exists():
                continue
            if name == homes.CONFIG_FILE:
                files[name] = settings.text_without(self.home, left_out)
                continue
            try:
                files[name] = path.read_text("utf-8", errors="replace")
            except OSError as error:
                raise StorageError(
                    f"The file {path} cannot be read: {error.strerror}.",
                    mend=f"check the permissions of {path}",
                ) from error
        return files

    @contextmanager
    def _staging(self) -> Iterator[Path]:
        """Make a folder in the home for an export that is being read; nothing of it stays."""
        home = Path(self.home)
        existed = home.is_dir()
        folder = home / f"{_STAGING}{os.urandom(4).hex()}"
        try:
            homes.create_home(self.home)
            homes.create_folder(str(folder))
            yield folder
        finally:
            rmtree(folder, ignore_errors=True)
            if not existed:
                with suppress(OSError):  # it is a home by now
                    home.rmdir()

    def _place(self, restored: Restored) -> None:
        """Write small files that came along, unless the home has its own."""
        for name, text in restored.files.items():
            path = Path(self.home) / name
            if not path.exists():
                homes.write_private(str(path), text)
            elif path.read_text("utf-8", errors="replace") != text:
                restored.notes.append(f"{name} was here already, and stays as it is.")


@contextmanager
def _opened(source: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a file to be read; what is open already stays open."""
    if not isinstance(source, (str, Path)):
        yield source
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115 - its errors are not those of the body below
    except OSError as error:
        raise StorageError(
            f"The file {source} cannot be read: {error.strerror}.", mend="check its name and mode"
        ) from error
    with file:
        yield file
