# Reads code from descriptor 3, runs it in one persistent namespace, and writes events to descriptor 4, one JSON value per line.
import ast
import asyncio
import base64
import builtins
import contextlib
import inspect
import io
import json
import linecache
import os
import signal
import sys
import traceback
import types

LIMIT = 4 * 1024 * 1024
RICH = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
)


class Session:
    def __init__(self):
        os.set_inheritable(3, False)
        os.set_inheritable(4, False)
        self.requests = os.fdopen(3, "rb")
        self.events = os.fdopen(4, "wb", buffering=0)
        self.count = 0
        self.busy = False
        self.loop = None
        self.pid = os.getpid()
        self.shown = None
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.names = module.__dict__
        sys.path.insert(0, "")
        builtins.display = lambda *values: [self.emit({"type": "display", "data": bundle(v)}) for v in values] and None
        signal.signal(signal.SIGINT, self.interrupted)

    def interrupted(self, number, frame):
        if self.busy:
            raise KeyboardInterrupt

    def emit(self, event):
        # A forked child that returns here must not write events.
        if os.getpid() == self.pid:
            data = (json.dumps(event) + "\n").encode("utf-8", "backslashreplace")
            while data:
                data = data[self.events.write(data):]

    def serve(self):
        for line in self.requests:
            self.count += 1
            try:
                self.busy = True
                request = json.loads(line)
                with variables(request.get("env") or {}):
                    self.run(request["code"])
                    self.show_figures()
            except BaseException as error:
                self.busy = False
                self.emit(failure(error))
            finally:
                self.busy = False
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except Exception:
                    pass
            self.emit({"type": "end", "execution_count": self.count})

    def run(self, source):
        if "IPython" in source:
            use_own_display()
        name = "<cell %d>" % self.count
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        tree = ast.parse(source, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        self.evaluate(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
        if last is None:
            return
        value = self.evaluate(compile(last, name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
        if value is not None:
            self.names["_"] = value
            # A figure that is the result is not shown a second time.
            self.shown = value
            self.emit({"type": "result", "data": bundle(value)})

    def show_figures(self):
        # Figures that the code drew and did not show itself, as notebooks do.
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if figure is not self.shown and figure.get_axes():
                self.emit({"type": "display", "data": bundle(figure)})
        self.shown = None
        pyplot.close("all")

    def evaluate(self, code):
        value = eval(code, self.names)
        if code.co_flags & inspect.CO_COROUTINE:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self.loop)
            return self.loop.run_until_complete(value)
        return value


@contextlib.contextmanager
def variables(added):
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def use_own_display():
    # That of an installed IPython needs its kernel.
    try:
        import IPython.display as shown

        shown.display = lambda *values, **options: display(*values)
    except Exception:
        pass


def draw(figure):
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", bbox_inches="tight")
    return drawn.getvalue()


def bundle(value):
    data = {"text/plain": repr(value)[:LIMIT]}
    if type(value).__module__.partition(".")[0] == "matplotlib" and hasattr(value, "savefig"):
        try:
            data["image/png"] = draw(value)
            if os.environ.get("SANDBOXD_CHARTS") == "1":
                data["application/vnd.agent-sandbox.chart+json"] = chart(value)
        except Exception:
            pass
    everything = getattr(type(value), "_repr_mimebundle_", None)
    if everything is not None:
        try:
            found = everything(value)
            data.update(found[0] if isinstance(found, tuple) else found or {})
        except Exception:
            pass
    for method, mime in RICH:
        if hasattr(type(value), method):
            try:
                found = getattr(value, method)()
            except Exception:
                continue
            # With metadata it is a pair.
            if found is not None:
                data[mime] = found[0] if isinstance(found, tuple) else found
    return {mime: encode(content) for mime, content in data.items() if size(content) <= LIMIT}


def encode(content):
    return base64.b64encode(content).decode("ascii") if isinstance(content, bytes) else content


def size(content):
    return len(content) if isinstance(content, (str, bytes)) else len(json.dumps(content, default=str))


def failure(error):
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == "<string>":
        trace = trace.tb_next
    try:
        message = str(error)
        lines = traceback.format_exception(type(error), error, trace)
    except Exception:
        message, lines = "", []
    return {"type": "error", "name": type(error).__name__, "message": message[:LIMIT], "traceback": "".join(lines)[:LIMIT]}


# Without a display, figures are drawn into memory.
os.environ.setdefault("MPLBACKEND", "agg")
Session().serve()
