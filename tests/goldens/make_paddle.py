"""Makes goldens/paddle: files that Paddle writes, of each of its two kinds.

Runs with paddlepaddle 3.3.1, which is in no environment of the repository:

    FLAGS_enable_pir_api=0 python tests/goldens/make_paddle.py
"""

from pathlib import Path

import numpy as np
import paddle
from paddle import static

FOLDER = Path(__file__).parent / "paddle"
KERNEL = np.arange(12, dtype=np.float32).reshape(3, 4)


def main() -> None:
  FOLDER.mkdir(exist_ok=True)
  net = paddle.nn.Linear(3, 4)
  net.weight.set_value(KERNEL)
  net.bias.set_value(np.arange(4, dtype=np.float32))
  for protocol in (2, 4):
    paddle.save(net.state_dict(), str(FOLDER / f"protocol{protocol}.pdparams"), protocol)
  paddle.enable_static()
  program, start = static.Program(), static.Program()
  with static.program_guard(program, start):
    kernel = static.create_parameter([3, 4], "float32", name="pooled_fc.w_0")
    assert kernel.name == "pooled_fc.w_0"
    executor = static.Executor()
    executor.run(start)
    static.global_scope().find_var("pooled_fc.w_0").get_tensor().set(KERNEL, paddle.CPUPlace())
    import paddle.distributed.io as files

    files.save_persistables(executor, str(FOLDER / "params"), program)


if __name__ == "__main__":
  main()
