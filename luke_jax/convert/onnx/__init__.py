"""Programs of JAX as ONNX files, in the primitives that networks of this package are made of."""

FILE = "model.onnx"
DATA = f"{FILE}.data"  # weights, where one file cannot hold them
INT8 = "model_int8.onnx"
ONNX_FILES = (FILE, DATA, INT8, f"{INT8}.data")
