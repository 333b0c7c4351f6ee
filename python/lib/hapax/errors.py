"""Errors of a store. Bad input raises ``ValueError`` or ``TypeError`` instead."""


class HapaxError(OSError):
    """A store could not be opened, read or written. ``errno`` and ``filename`` are set for errors of
    the file system."""


class LockedError(HapaxError):
    """Another process has locked the store."""


class DamagedError(HapaxError):
    """Committed bytes are missing or do not match their checksum."""


class VersionError(HapaxError):
    """The store was written by another version of the format."""


class RecipeError(HapaxError):
    """The store has fingerprints of another recipe, which are not comparable."""
