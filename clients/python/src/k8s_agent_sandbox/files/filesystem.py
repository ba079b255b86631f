"""Files of a sandbox."""

from .._sync.filesystem import BinaryWriter as BinaryWriter
from .._sync.filesystem import Filesystem as Filesystem
