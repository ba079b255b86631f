data = bytearray(2 * 1024 * 1024 * 1024)
