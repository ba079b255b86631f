# The data of figures that matplotlib drew, for clients that draw them themselves. It is read after the figure was drawn: only then are
# the labels of its ticks known.
import math
import re

CHART_POINTS = 100_000
SCALES = ("linear", "log", "symlog", "logit", "function", "functionlog", "asinh")


def chart(figure):
    charts = [axes_chart(axes) for axes in figure.get_axes()]
    if len(charts) == 1:
        return charts[0]
    title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    return {"type": "superchart", "title": title, "elements": charts}


def axes_chart(axes):
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    bars = [one for one in axes.containers if type(one).__name__ == "BarContainer"]
    scattered = [one for one in axes.collections if type(one).__name__ == "PathCollection"]
    lines = axes.get_lines()
    if wedges:
        return {"type": "pie", "title": axes.get_title(), "elements": [slice_of(wedge) for wedge in wedges]}
    if bars:
        return {"type": "bar", **plane(axes), "elements": [one for bar in bars for one in bars_of(axes, bar)]}
    if scattered:
        sets = [(one.get_label(), *zip(*one.get_offsets().tolist())) for one in scattered if len(one.get_offsets())]
        return {"type": "scatter", **plane(axes), **ticks(axes), "elements": [points(*one) for one in sets]}
    if lines:
        sets = [(one.get_label(), one.get_xdata(orig=False).tolist(), one.get_ydata(orig=False).tolist()) for one in lines]
        return {"type": "line", **plane(axes), **ticks(axes), "elements": [points(*one) for one in sets]}
    return {"type": "unknown", "title": axes.get_title(), "elements": []}


def slice_of(wedge):
    angle = wedge.theta2 - wedge.theta1
    return {"label": wedge.get_label(), "angle": number(angle), "radius": number(wedge.r)}


def bars_of(axes, container):
    horizontal = getattr(container, "orientation", None) == "horizontal"
    axis = axes.yaxis if horizontal else axes.xaxis
    names = {round(place, 6): name.get_text() for place, name in zip(axis.get_ticklocs(), axis.get_ticklabels())}
    group = container.get_label()
    for patch in container.patches:
        place = patch.get_y() + patch.get_height() / 2 if horizontal else patch.get_x() + patch.get_width() / 2
        value = patch.get_width() if horizontal else patch.get_height()
        label = names.get(round(place, 6)) or f"{place:g}"
        yield {"label": label, "group": "" if group.startswith("_") else group, "value": number(value)}


def points(label, xs, ys):
    pairs = [[number(x), number(y)] for x, y in zip(xs, ys)]
    if len(pairs) > CHART_POINTS:
        raise ValueError("too many points")
    return {"label": "" if label.startswith("_") else label, "points": pairs}


def plane(axes):
    return {
        "title": axes.get_title(),
        "x_label": axes.get_xlabel() or None,
        "y_label": axes.get_ylabel() or None,
        "x_unit": unit(axes.get_xlabel()),
        "y_unit": unit(axes.get_ylabel()),
    }


def unit(label):
    found = re.search(r"\(([^()]*)\)\s*$", label)
    return found.group(1) if found else None


def ticks(axes):
    described = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        described[f"{name}_ticks"] = [number(place) for place in axis.get_ticklocs()]
        described[f"{name}_tick_labels"] = [label.get_text() for label in axis.get_ticklabels()]
        described[f"{name}_scale"] = scale(axis)
    return described


def scale(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    if "Category" in kind:
        return "categorical"
    if "Date" in kind:
        return "datetime"
    return axis.get_scale() if axis.get_scale() in SCALES else "unknown"


# JSON has no infinite numbers.
def number(value):
    value = float(value)
    return value if math.isfinite(value) else None
