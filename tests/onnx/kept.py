"""Models in files, for tests of plans on disk."""

import uuid

import ep.onnx


def written(folder, model):
    """Return the path of a file that no earlier run of the tests has had."""
    model.doc_string = uuid.uuid4().hex
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def loaded(path):
    """Return a loaded model, and whether its graph has been read."""
    model = ep.onnx.load(path)
    return model, lambda: model._stored._made is not None


def run_once(folder, model, given):
    """Run a model from a file, so that its plan is kept; return the path, and what `loaded` returns for it then."""
    path = written(folder, model)
    loaded(path)[0](**given)
    return path, *loaded(path)
