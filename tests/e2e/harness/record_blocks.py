"""The records in a block of the database, read by docs/formats/record_block.md and by none of our code."""

import re
import zlib
from typing import Dict, Iterator, List, Tuple


class Bytes:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        packed = self.number()
        return packed >> 1 if packed & 1 == 0 else -(packed >> 1) - 1

    def text(self) -> bytes:
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at]


def names(shape: bytes) -> List[str]:
    """Decodes a template with its numbers. The texts in between contain no escapes in these tests."""
    found: List[str] = []
    for before in shape.split(b"\1")[:-1]:
        name = re.findall(rb'"([^"]*)":', before)
        # A number in a list has the list's name.
        name_text = name[-1].decode() if name else found[-1].rstrip("#")
        while name_text in found:
            name_text += "#"
        found.append(name_text)
    return found


def records(data: bytes) -> Iterator[Tuple[int, int, bytes]]:
    """Source, offset and text of each record."""
    read = Bytes(data)
    form = read.number()
    if form == 2:
        size = read.number()
        read = Bytes(zlib.decompress(data[read.at:]))
        if len(read.data) != size:
            raise ValueError("not as long as it should be")
    elif form != 1:
        raise ValueError("another format")
    shapes = [read.text() for _ in range(read.number())]
    columns = [names(shape) for shape in shapes]
    numbers: Dict[str, int] = {name: 0 for of_shape in columns for name in of_shape}
    clock = source = offset = 0
    node = b""
    for _ in range(read.number()):
        head = read.number()
        if head & 1:
            source += read.signed()
            node = read.text() or node
            read.text()
            offset = 0
        offset += read.signed()
        if head >> 1 == 0:
            read.signed()  # its time
            read.text()  # and its kind
            yield source, offset, read.text()
            continue
        of_shape, which = columns[(head >> 1) - 1], read.number()
        for index, name in enumerate(of_shape):
            difference = read.signed() if which >> index & 1 else 0
            if name == "m":
                clock += difference
                numbers["m"] = numbers["t"] - clock
            else:
                numbers[name] += difference
        values = iter(of_shape)
        text = re.sub(b"\1", lambda _: str(numbers[next(values)]).encode(), shapes[(head >> 1) - 1])
        yield source, offset, text.replace(b"\2", node)
    if read.at != len(read.data):
        raise ValueError("more than it should have")
