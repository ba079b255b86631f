"""A backend of matplotlib for code contexts: `plt.show()` displays the open figures as PNG images, and so does a figure as result."""

import io

from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas  # noqa: F401, part of every backend
from matplotlib.figure import Figure


def _repr_png_(figure):
    data = io.BytesIO()
    figure.savefig(data, format="png", bbox_inches="tight")
    return data.getvalue()


Figure._repr_png_ = _repr_png_


def show(*args, **kwargs):
    """Programs outside of a code context have no `display`; for them this does nothing, as with the backend Agg."""
    try:
        for manager in Gcf.get_all_fig_managers():
            display(manager.canvas.figure)  # noqa: F821, a builtin of code contexts
    except NameError:
        return
    Gcf.destroy_all()
