"""Put on PYTHONPATH by `gradwire watch`. Python runs it at its start; it waits for torch to be imported and then lets
gradwire_hook look on. A sitecustomize that this one hides is run as if this one were not there.
"""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


class _WaitForTorch:
    """A finder that finds nothing itself: it asks the others for torch, and to be told when torch is there."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # its words are not the program's
        load = spec.loader.exec_module

        def load_and_hook(module):
            load(module)
            try:
                import gradwire_hook

                gradwire_hook.install(module)
            except Exception:  # the program's run comes first
                pass

        spec.loader.exec_module = load_and_hook
        return spec


def _run_hidden():
    others = [place for place in sys.path if os.path.abspath(place or os.curdir) != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("GRADWIRE_WATCH_DIR"):
    sys.meta_path.insert(0, _WaitForTorch())
_run_hidden()
