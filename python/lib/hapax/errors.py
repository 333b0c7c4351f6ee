"""What can go wrong with a store. Bad input is a ``ValueError`` or ``TypeError``."""


class HapaxError(OSError):
    """A store could not be opened, read or written; ``errno`` and ``filename`` are set where the
    file system refused."""


class LockedError(HapaxError):
    """Another process holds the store."""


class DamagedError(HapaxError):
    """Bytes that were acknowledged do not match their checksum."""


class VersionError(HapaxError):
    """The store was written by another version of the format."""


class RecipeError(HapaxError):
    """The store holds fingerprints of another recipe, which cannot be compared."""
