"""Programs of JAX as ONNX files, in the primitives that networks of this package are made of."""

FILE = "model.onnx"
DATA = f"{FILE}.data"  # weights, where one file cannot hold them
CARD = f"{FILE}.json"  # what it reads and returns
INT8 = "model_int8.onnx"
ONNX_FILES = (FILE, DATA, CARD, INT8, f"{INT8}.data")
