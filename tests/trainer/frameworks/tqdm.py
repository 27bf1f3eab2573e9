"""A progress bar as tqdm draws it (tqdm/std.py, format_meter) where the width is 10."""

_PARTS = " ▏▎▍▌▋▊▉"


def bar(done: int, total: int, width: int = 10) -> str:
    eighths = width * 8 * done // total
    full, part = divmod(eighths, 8)
    return ("█" * full + (_PARTS[part] if full < width else "")).ljust(width)


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return "%d:%02d:%02d" % (hours, minutes, rest) if hours else "%02d:%02d" % (minutes, rest)
