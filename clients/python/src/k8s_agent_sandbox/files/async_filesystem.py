"""Files of a sandbox."""

from .._async.filesystem import AsyncBinaryWriter as AsyncBinaryWriter
from .._async.filesystem import AsyncFilesystem as AsyncFilesystem
